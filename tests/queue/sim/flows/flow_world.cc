// SPDX-License-Identifier: MIT
#include "tests/queue/sim/flows/flow_world.h"

#include <algorithm>
#include <utility>

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDepthMax = 3;
constexpr std::size_t kJobsMax = 40;
constexpr unsigned kComparePeriod = 5;
constexpr unsigned kVerifyPeriod = 30;
constexpr double kLive = 0.25;

std::string ms(WallTime time) {
  return std::to_string(time.time_since_epoch().count() / 1'000'000);
}

template <class T, std::size_t N>
T one_of(Random& random, const T (&choices)[N]) {
  return choices[random.below(N)];
}

QueueConfig draw_config(Random& random) {
  QueueConfig config;
  config.lease = one_of(random, {Duration(10ms), Duration(1s), Duration(60s)});
  config.retry = {.attempts_max = static_cast<std::uint32_t>(1 + random.below(3)),
                  .base = one_of(random, {Duration{}, Duration(10ms), Duration(1s)})};
  config.lapses_max = static_cast<std::uint32_t>(1 + random.below(3));
  config.done_retention = one_of(random, {Duration{}, Duration(1s), Duration(3h)});
  config.dead_retention = one_of(random, {Duration::max(), Duration(1s), Duration(1h)});
  config.shards = static_cast<std::uint32_t>(random.chance(0.6) ? 1 : 2 + random.below(2));
  config.fair = random.chance(0.2);
  return config;
}

}  // namespace

bool FlowCall::doubtful() const {
  const Code code = status.code();
  return code == Code::commit_unknown || code == Code::io_error || code == Code::unavailable;
}

bool FlowActor::chance(double probability) {
  return world_.random().chance(probability);
}

std::size_t FlowActor::below(std::size_t bound) {
  return static_cast<std::size_t>(world_.random().below(bound));
}

const std::string& FlowActor::draw_queue() {
  return world_.names()[below(world_.names().size())];
}

FlowWorld::FlowWorld(std::uint64_t seed, FlowTally& tally)
    : tally_(tally), random_(seed), fault_random_(seed ^ 0x9e3779b97f4a7c15) {
  const bool optimistic = random_.chance(0.6);
  store_ = std::make_unique<kv::FaultStore>(
      kv::MemoryOptions{.mode = optimistic ? kv::MemoryOptions::Mode::optimistic
                                           : kv::MemoryOptions::Mode::serial,
                        .clock = &clock_,
                        .before_commit = [this] { at_commit_point(); }},
      fault_random_);
  for (std::size_t i = 0; i <= random_.below(2); ++i) names_.push_back("q" + std::to_string(i));
  ledger_.emplace(tally_, names_);
  processes_.resize(3 + random_.below(2));
  trace_.note("seed " + std::to_string(seed) + (optimistic ? " optimistic" : " serial"));
  for (Process& process : processes_) start(process);
  for (const std::string& name : names_)
    if (const Status status = observer().configure(name, draw_config(random_)); !status.ok())
      ledger_->fail("configure: " + status.to_string());
  make_actors();
  draw_faults();
}

FlowWorld::~FlowWorld() {
  store_->clear_chances();
  tally_.transactions += store_->stats().commits;
  for (std::size_t i = 0; i < kv::kFaultCount; ++i)
    tally_.faults[i] += store_->count(static_cast<kv::Fault>(i));
}

// Each run is about two or three of the flows, so that each gets deep enough.
void FlowWorld::make_actors() {
  using Make = std::unique_ptr<FlowActor> (*)(FlowWorld&, std::size_t);
  constexpr Make kFlows[] = {make_key_producer, make_graph_producer, make_batcher, make_scheduler};
  const std::size_t users = processes_.size() - 1;
  const auto add = [&](Make made) { actors_.push_back(made(*this, random_.below(users))); };
  const std::size_t main = random_.below(4);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t count = i == main ? 2 : random_.below(2);
    for (std::size_t n = 0; n < count; ++n) add(kFlows[i]);
  }
  for (std::size_t i = 0; i < 3; ++i) actors_.push_back(make_flow_worker(*this, i % users));
  add(make_flow_operator);
  add(make_follower);
  add(make_follower);
}

void FlowWorld::draw_faults() {
  constexpr double kChances[] = {0.01, 0.05, 0.2};
  for (std::size_t i = 0; i < kv::kFaultCount; ++i) {
    if (!random_.chance(kLive)) continue;
    const auto fault = static_cast<kv::Fault>(i);
    double probability = one_of(random_, kChances);
    if (fault == kv::Fault::crash_lost || fault == kv::Fault::crash_applied ||
        fault == kv::Fault::io_error)
      probability = std::min(probability, 0.05);
    store_->set_chance(fault, probability);
  }
  intrusion_ = random_.chance(0.7) ? one_of(random_, {0.05, 0.2, 0.5}) : 0;
  wall_steps_ = random_.chance(kLive) ? 0.05 : 0;
}

bool FlowWorld::paused(const std::string& name) {
  const auto queue = observer().get_queue(name);
  return queue && queue->paused;
}

bool FlowWorld::crowded() const {
  return ledger_->unfinished() >= kJobsMax;
}

bool FlowWorld::start(Process& process) {
  for (unsigned tries = 0; tries < 100; ++tries) {
    if (store_->down()) store_->reopen();
    process.random = std::make_unique<SeededRandom>(random_.next());
    auto queues = Queues::open(*store_, {.random = process.random.get()});
    if (!queues) continue;
    process.queues = *std::move(queues);
    return true;
  }
  ledger_->fail("a process cannot be started");
  return false;
}

void FlowWorld::restart(std::size_t index) {
  trace_.note("process " + std::to_string(index) + " dies");
  processes_[index].queues.reset();
  for (const auto& actor : actors_)
    if (actor->process() == index) actor->forget();
  // An operation in doubt may have been written down elsewhere.
  std::erase_if(unsure_,
                [&](const FlowCall& call) { return call.process == index && random_.chance(0.3); });
  start(processes_[index]);
}

void FlowWorld::make(FlowCall call) {
  if (violation() || processes_[call.process].busy) return;
  call.number = next_call_++;
  if (call.with_operation) call.operation = "op" + std::to_string(call.number);
  perform(call);
}

void FlowWorld::perform(FlowCall& call) {
  Process& process = processes_[call.process];
  ledger_->look(observer(), now());
  if (call.tries++ == 0) {
    call.begun = now();
    call.begun_tick = ledger_->tick();
  }
  const std::uint64_t conflicts = store_->stats().conflicts;
  call.intruded = false;
  frames_.push_back(&call);
  process.busy = true;
  call.answer.clear();
  call.status = call.run(*process.queues, call);
  process.busy = false;
  frames_.pop_back();
  for (FlowCall* frame : frames_) frame->intruded = true;
  if (call.intruded && store_->stats().conflicts > conflicts && call.status.ok())
    tally_.hit(FlowProbe::conflict_between_clients);
  trace_.note(ms(now()) + std::string(2 * frames_.size(), ' ') + " call " +
              std::to_string(call.number) + " p" + std::to_string(call.process) + " " + call.text +
              (call.tries > 1 ? " again" : "") + " -> " + code_name(call.status.code()) + " " +
              call.answer);
  settle(call);
}

void FlowWorld::settle(FlowCall& call) {
  const std::uint64_t before = ledger_->tick();
  const bool seen = ledger_->look(observer(), now());
  if (violation()) return;
  if (call.doubtful()) {
    if (seen && ledger_->tick() > before && !call.intruded) call.applied = true;
    if (call.repeatable || !call.operation.empty()) unsure_.push_back(call);
    return;
  }
  // A full store refuses a call before it can be recognised.
  const bool full = call.status.code() == Code::storage_full ||
                    call.answer.find("storage_full") != std::string::npos;
  if (full) return;
  if (!seen) return put_off_.push_back(call);
  if (!call.operation.empty() && call.answered) {
    tally_.hit(FlowProbe::operation_repeated);
    if (call.steady && *call.answered != call.answer)
      return ledger_->fail("another answer to the same operation: " + call.answer + ", first " +
                           *call.answered);
    return;
  }
  if (!call.operation.empty() && call.tries > 1 && call.status.ok())
    tally_.hit(call.applied ? FlowProbe::operation_settled_applied
                            : FlowProbe::operation_settled_lost);
  if (call.judge) call.judge(call);
  if (violation() || call.operation.empty() || !call.status.ok() || !random_.chance(0.05)) return;
  call.answered = call.answer;
  unsure_.push_back(call);
}

bool FlowWorld::repeat_one() {
  if (unsure_.empty()) return false;
  const std::size_t index = random_.below(unsure_.size());
  if (processes_[unsure_[index].process].busy) return false;
  FlowCall call = std::move(unsure_[index]);
  unsure_.erase(unsure_.begin() + static_cast<std::ptrdiff_t>(index));
  if (now() - call.begun < kOperationWindow) perform(call);
  return true;
}

void FlowWorld::at_commit_point() {
  if (frames_.empty() || looking_ || violation()) return;
  looking_ = true;
  ledger_->look(observer(), now());
  looking_ = false;
  if (frames_.size() >= kDepthMax || intrusion_ <= 0 || violation()) return;
  if (random_.chance(intrusion_)) act();
}

void FlowWorld::act() {
  if (random_.chance(0.3) && repeat_one()) return;
  std::vector<FlowActor*> free;
  for (const auto& actor : actors_)
    if (!processes_[actor->process()].busy) free.push_back(actor.get());
  if (free.empty()) return;
  ++tally_.steps;
  free[random_.below(free.size())]->step();
  if (!frames_.empty() && random_.chance(0.02)) clock_.advance(1ms);
}

void FlowWorld::pass_time() {
  if (random_.chance(wall_steps_)) {
    const bool back = random_.chance(0.5);
    clock_.step_wall(back ? -1h : 1h);
    tally_.hit(FlowProbe::wall_clock_stepped);
    trace_.note(back ? "wall clock -1 h" : "wall clock +1 h");
  }
  if (random_.chance(0.6)) return;
  if (random_.chance(0.4)) {
    std::erase_if(hints_, [&](WallTime time) { return time < now(); });
    const auto next = std::ranges::min_element(hints_);
    if (next == hints_.end()) return;
    const Duration off = one_of(random_, {Duration{}, Duration{}, Duration(-1ms), Duration(1us)});
    return clock_.advance(std::max(*next + off - now(), Duration{}));
  }
  constexpr Duration kPauses[] = {1us, 1ms, 1ms, 10ms, 100ms, 1s,    1s,
                                  10s, 30s, 60s, 5min, 25min, 70min, 200min};
  clock_.advance(one_of(random_, kPauses));
}

void FlowWorld::recover() {
  ++tally_.crashes;
  const std::uint64_t before = ledger_->tick();
  trace_.note("the store is down: everybody starts again");
  do {
    for (std::size_t i = 0; i < processes_.size() && !violation(); ++i) restart(i);
  } while (store_->down() && !violation());
  if (violation()) return;
  ledger_->look(observer(), now());
  if (ledger_->tick() > before) tally_.hit(FlowProbe::crash_applied_seen);
  for (FlowCall& call : std::exchange(put_off_, {})) {
    call.intruded = true;
    if (call.judge && !violation()) call.judge(call);
  }
  check_store();
}

void FlowWorld::check_store() {
  if (violation()) return;
  ++tally_.verifies;
  const auto report = verify(*store_);
  if (!report) return ledger_->fail("verify failed: " + report.error().to_string());
  if (!report->clean()) ledger_->fail("verify: " + report->to_text());
}

void FlowWorld::step() {
  ++steps_;
  pass_time();
  if (random_.chance(0.01)) restart(random_.below(processes_.size() - 1));
  if (!store_->down() && !violation()) act();
  if (violation()) return;
  if (store_->down()) return recover();
  ledger_->look(observer(), now());
  if (steps_ % kComparePeriod == 0 && !violation()) ledger_->compare(observer());
  if (steps_ % kVerifyPeriod == 0) check_store();
}

void FlowWorld::run(unsigned steps) {
  const MonoTime begun = clock_.mono();
  for (unsigned i = 0; i < steps && !violation(); ++i) step();
  if (!violation()) drain();
  ++tally_.seeds;
  tally_.simulated_ns += static_cast<std::uint64_t>((clock_.mono() - begun).count());
  if (violation()) ++tally_.violations;
}

}  // namespace sluice::queue::sim
