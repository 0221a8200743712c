// SPDX-License-Identifier: MIT
#include "tests/queue/sim/world.h"

#include <algorithm>
#include <utility>

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kVerifyPeriod = 20;
constexpr std::size_t kDepthMax = 3;
constexpr double kLive = 0.25;

template <class T, std::size_t N>
T one_of(Random& random, const T (&choices)[N]) {
  return choices[random.below(N)];
}

std::string ms(WallTime time) {
  return std::to_string(time.time_since_epoch().count() / 1'000'000);
}

}  // namespace

World::World(std::uint64_t seed, Tally& tally)
    : tally_(tally), random_(seed), fault_random_(seed ^ 0x9e3779b97f4a7c15) {
  const bool optimistic = random_.chance(0.5);
  store_ = std::make_unique<kv::FaultStore>(
      kv::MemoryOptions{.mode = optimistic ? kv::MemoryOptions::Mode::optimistic
                                           : kv::MemoryOptions::Mode::serial,
                        .clock = &clock_,
                        .before_commit = [this] { intrude(); }},
      fault_random_);
  for (std::size_t i = 0; i <= random_.below(3); ++i) names_.push_back("q" + std::to_string(i));
  oracle_.emplace(tally_, names_);
  processes_.resize(3 + random_.below(2));
  trace_.note("seed " + std::to_string(seed) + (optimistic ? " optimistic" : " serial"));
  set_up();
}

World::~World() {
  store_->clear_chances();
  store_->hold_syncs(false);
  tally_.transactions += store_->stats().commits;
  for (std::size_t i = 0; i < kv::kFaultCount; ++i)
    tally_.faults[i] += store_->count(static_cast<kv::Fault>(i));
}

void World::set_up() {
  for (Process& process : processes_) start(process);
  for (const std::string& name : names_) {
    Call call = new_call(Verb::configure, 0, false);
    call.queue = name;
    call.config = draw_config();
    perform(call);
  }
  make_actors();
  draw_faults();
}

void World::make_actors() {
  const std::size_t users = processes_.size() - 1;
  for (std::size_t i = 0; i < 2; ++i) actors_.push_back(make_client(*this, random_.below(users)));
  for (std::size_t i = 0; i < 4; ++i) actors_.push_back(make_worker(*this, i % users));
  actors_.push_back(make_operator(*this, random_.below(users)));
  actors_.push_back(make_sweeper(*this, random_.below(users)));
}

// Two draws per class of faults: whether it happens in this run at all, and then how often.
void World::draw_faults() {
  constexpr double kChances[] = {0.01, 0.05, 0.2};
  for (std::size_t i = 0; i < kv::kFaultCount; ++i) {
    if (!random_.chance(kLive)) continue;
    const auto fault = static_cast<kv::Fault>(i);
    chances_[i] = one_of(random_, kChances);
    // Runs that do nothing but crash meet nothing else.
    if (fault == kv::Fault::crash_lost || fault == kv::Fault::crash_applied ||
        fault == kv::Fault::io_error)
      chances_[i] = std::min(chances_[i], 0.05);
    store_->set_chance(fault, chances_[i]);
  }
  intrusion_ = random_.chance(0.7) ? one_of(random_, {0.05, 0.2, 0.5}) : 0;
  wall_steps_ = random_.chance(kLive) ? 0.02 : 0;
  hold_syncs_ = random_.chance(kLive);
  store_->hold_syncs(hold_syncs_);
}

Duration World::draw_lease() {
  constexpr Duration kLeases[] = {1ms, 10ms, 1s, 60s, 1h};
  return one_of(random_, kLeases);
}

QueueConfig World::draw_config() {
  const auto maybe = [&](double probability) -> std::optional<std::uint32_t> {
    if (!random_.chance(probability)) return std::nullopt;
    return static_cast<std::uint32_t>(1 + random_.below(3));
  };
  QueueConfig config;
  config.priority = static_cast<std::int32_t>(random_.below(3));
  config.lease = draw_lease();
  config.retry = {.attempts_max = static_cast<std::uint32_t>(1 + random_.below(4)),
                  .base = one_of(random_, {Duration{}, Duration(10ms), Duration(1s)}),
                  .factor = random_.chance(0.5) ? 1.0 : 2.0,
                  .cap = random_.chance(0.5) ? 1min : 1s,
                  .jitter = one_of(random_, {0.0, 0.5, 1.0})};
  config.retry.base = std::min(config.retry.base, config.retry.cap);
  config.lapses_max = static_cast<std::uint32_t>(1 + random_.below(4));
  config.done_retention = one_of(random_, {Duration{}, Duration(1s), Duration(1h)});
  config.dead_retention = one_of(random_, {Duration::max(), Duration(1s), Duration(1h)});
  config.active_max = maybe(0.3);
  config.group_max = maybe(0.6);
  if (random_.chance(0.3)) config.backlog_max = 1 + random_.below(12);
  if (random_.chance(0.1))
    config.rate = Rate{.jobs = 1 + random_.below(3), .per = 1s, .burst = 1 + random_.below(3)};
  config.shards = random_.chance(0.5) ? 1 : static_cast<std::uint32_t>(1 + random_.below(4));
  config.fair = random_.chance(0.35);
  return config;
}

bool World::start(Process& process) {
  for (unsigned tries = 0; tries < 200; ++tries) {
    if (store_->down()) store_->reopen();
    process.random = std::make_unique<SeededRandom>(random_.next());
    auto queues = Queues::open(*store_, {.random = process.random.get()});
    if (!queues) continue;
    process.queues = *std::move(queues);
    ++process.lives;
    return true;
  }
  oracle_->fail("P13: a process cannot be started");
  return false;
}

void World::restart(std::size_t index) {
  trace_.note("process " + std::to_string(index) + " dies");
  processes_[index].queues.reset();
  for (const auto& actor : actors_)
    if (actor->process() == index) actor->die();
  start(processes_[index]);
}

Call World::new_call(Verb verb, std::size_t process, bool with_operation) {
  Call call{.number = next_call_++, .verb = verb, .process = process};
  if (with_operation) call.operation = "op" + std::to_string(call.number);
  return call;
}

std::vector<const Call*> World::outer() const {
  return {frames_.begin(), frames_.end()};
}

void World::perform(Call& call) {
  Process& process = processes_[call.process];
  if (!frames_.empty()) oracle_->refresh(*processes_.back().queues, now(), outer());
  const SightPtr begin = oracle_->sight();
  const std::uint64_t conflicts = store_->stats().conflicts + store_->count(kv::Fault::conflict);
  if (call.tries++ == 0) call.first_begun = now();
  call.applied = oracle_->applied(call.number);
  call.intruded = false;
  call.begun = call.ended = now();
  frames_.push_back(&call);
  process.busy = true;
  execute(*process.queues, call);
  process.busy = false;
  frames_.pop_back();
  for (Call* frame : frames_) frame->intruded = true;
  call.ended = now();
  trace_.note(ms(call.ended) + std::string(2 * frames_.size(), ' ') + " " + call.to_string());
  oracle_->settle(*processes_.back().queues, now(), call, begin, outer());
  if (!violation()) notice(call, conflicts);
}

void World::submit(Call& call) {
  Process& process = processes_[call.process];
  auto pending = std::make_unique<Pending>(Pending{.call = call});
  Pending* const raw = pending.get();
  const SightPtr begin = oracle_->sight();
  Call& held = raw->call;
  held.batch = true;
  held.tries = 1;
  held.first_begun = held.begun = held.ended = now();
  const bool grows =
      held.verb == Verb::enqueue ||
      std::ranges::any_of(held.items, [](const Item& i) { return !i.children.empty(); });
  frames_.push_back(&held);
  process.busy = true;
  store_->submit(
      [&process, raw](kv::Transaction& txn) -> Status {
        Scope scope(*process.queues, txn);
        execute_in(scope, raw->call);
        return {};
      },
      [raw](Result<kv::Commit> commit) {
        raw->done = true;
        raw->commit = status_of(commit);
      },
      {.write_class = grows ? kv::WriteClass::grow : kv::WriteClass::drain});
  process.busy = false;
  frames_.pop_back();
  held.ended = now();
  call = held;
  if (!raw->done) call.status = Status(Code::commit_unknown, "not synced yet");
  if (raw->done && !raw->commit.ok()) {
    call.status = raw->commit;
    for (Item& item : call.items) item.status = raw->commit;
  }
  trace_.note(ms(now()) + " submitted " + call.to_string());
  collect_pending();
  if (!raw->done && pending_.empty()) durable_ = oracle_->sight();
  if (!raw->done) pending_.push_back(std::move(pending));
  oracle_->settle(*processes_.back().queues, now(), call, begin, {});
}

// Those whose sync has happened are acknowledged, those that a crash has undone never will be.
void World::collect_pending() {
  std::vector<Call> lost;
  for (auto& pending : pending_) {
    if (pending->done && pending->commit.ok()) {
      pending->call.status = {};
      trace_.note("acknowledged " + pending->call.to_string());
      oracle_->acknowledge(pending->call);
      tally_.hit(Probe::unsynced_commit_kept);
      pending.reset();
    } else if (store_->down()) {
      pending->call.status = Status(Code::commit_unknown, "crashed before the sync");
      lost.push_back(pending->call);
      pending.reset();
    }
  }
  std::erase(pending_, nullptr);
  if (lost.empty()) return;
  tally_.hit(Probe::unsynced_commit_lost);
  trace_.note("lost " + std::to_string(lost.size()) + " unsynced calls");
  oracle_->roll_back(durable_, lost);
}

void World::intrude() {
  if (frames_.empty() || frames_.size() >= kDepthMax || violation() || intrusion_ <= 0) return;
  if (random_.chance(intrusion_)) act(true);
}

void World::act(bool nested) {
  std::vector<Actor*> free;
  for (const auto& actor : actors_)
    if (!processes_[actor->process()].busy) free.push_back(actor.get());
  if (free.empty()) return;
  ++tally_.steps;
  free[random_.below(free.size())]->act();
  if (nested && random_.chance(0.02)) clock_.advance(1ms);
}

void World::pass_time() {
  if (random_.chance(wall_steps_)) {
    const bool back = random_.chance(0.5);
    clock_.step_wall(back ? -1h : 1h);
    tally_.hit(back ? Probe::clock_stepped_back : Probe::clock_stepped_forward);
    trace_.note(back ? "wall clock -1 h" : "wall clock +1 h");
  }
  if (random_.chance(0.6)) return;
  if (random_.chance(0.3)) {
    // To a moment at which something ends, or just before or after it.
    const auto next = next_event();
    if (!next) return;
    const Duration off = one_of(random_, {Duration{}, Duration{}, Duration(-1ms), Duration(1us)});
    return clock_.advance(std::max(*next + off - now(), Duration{}));
  }
  constexpr Duration kPauses[] = {1us, 1ms, 1ms, 10ms, 100ms, 1s, 30s, 10min};
  clock_.advance(one_of(random_, kPauses));
}

void World::switch_full() {
  if (chances_[static_cast<std::size_t>(kv::Fault::full)] <= 0 || !random_.chance(0.1)) return;
  full_ = !full_;
  full_refused_ = false;
  store_->set_chance(kv::Fault::full,
                     full_ ? 1 : chances_[static_cast<std::size_t>(kv::Fault::full)]);
}

void World::recover() {
  ++tally_.crashes;
  store_->crash();  // Whatever brought it down, nothing that was not synced survives.
  collect_pending();
  trace_.note("the store is down: everybody starts again");
  for (std::size_t i = 0; i < processes_.size() && !violation(); ++i) restart(i);
  while (store_->down() && !violation())
    for (std::size_t i = 0; i < processes_.size() && !violation(); ++i) restart(i);
  if (violation()) return;
  oracle_->refresh(*processes_.back().queues, now(), {});
  check_store();
}

void World::check_store() {
  if (violation()) return;
  ++tally_.verifies;
  const auto report = verify(*store_);
  if (!report) return oracle_->fail("verify failed: " + report.error().to_string());
  if (!report->clean()) oracle_->fail("verify: " + report->to_text());
}

void World::step() {
  ++steps_;
  pass_time();
  switch_full();
  if (random_.chance(0.01)) restart(random_.below(processes_.size() - 1));
  if (!store_->down() && !violation()) act(false);
  if (violation()) return;
  if (store_->down()) return recover();
  collect_pending();
  if (steps_ % kVerifyPeriod == 0) check_store();
}

void World::run(unsigned steps) {
  const MonoTime begun = clock_.mono();
  for (unsigned i = 0; i < steps && !violation(); ++i) step();
  if (!violation()) drain();
  ++tally_.seeds;
  tally_.simulated_ns += static_cast<std::uint64_t>((clock_.mono() - begun).count());
  if (violation()) ++tally_.violations;
}

}  // namespace sluice::queue::sim
