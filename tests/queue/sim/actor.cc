// SPDX-License-Identifier: MIT
#include "tests/queue/sim/actor.h"

#include <array>

#include "tests/queue/sim/world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

// More jobs than this at a time make the run slower and not worse.
constexpr std::size_t kJobsMax = 30;
constexpr std::size_t kIds = 12;

class Client final : public Actor {
 public:
  using Actor::Actor;

 private:
  void step() override {
    if (world_.sight().job_count() >= kJobsMax) return;
    Call call = world_.new_call(Verb::enqueue, process_, chance(0.6));
    std::size_t count = 1;
    if (chance(0.35)) count = 2 + below(5);
    if (chance(0.01)) count = 64;
    call.batch = count > 1;
    call.all_or_none = call.batch && chance(0.2);
    const std::string& queue = world_.queue_names()[below(world_.queue_names().size())];
    for (std::size_t i = 0; i < count; ++i) {
      NewJob job = draw_job(call, i);
      if (!chance(0.1)) job.queue = queue;
      call.items.push_back({.job = job});
    }
    make(call);
  }
};

class Sweeper final : public Actor {
 public:
  using Actor::Actor;

 private:
  void step() override {
    Call call = world_.new_call(Verb::sweep, process_, false);
    call.count_max = std::array<std::uint64_t, 4>{1, 3, 10'000, 10'000}[below(4)];
    make(call);
  }
};

}  // namespace

void Actor::act() {
  if (!unsure_ || chance(0.2)) return step();
  Call call = *std::move(unsure_);
  unsure_.reset();
  const bool in_time = world_.now() - call.first_begun < kOperationWindow;
  if (!in_time) return;
  if (call.operation.empty()) {
    // A new call of the same meaning: whoever does this may do it twice.
    Call again = world_.new_call(call.verb, process_, false);
    again.items = call.items;
    again.batch = call.batch;
    again.claim = call.claim;
    again.claim.worker = "c" + std::to_string(again.number);
    for (std::size_t i = 0; i < again.items.size(); ++i)
      if (again.verb == Verb::enqueue) again.items[i].job.payload = nonce_of(again, i);
    return make(again);
  }
  if (world_.lives(process_) != unsure_life_) world_.tally().hit(Probe::replay_across_restart);
  make(call);
}

void Actor::die() {
  if (chance(0.3)) unsure_.reset();
  forget();
}

void Actor::make(Call call) {
  const bool submits = (call.verb == Verb::enqueue || call.verb == Verb::ack ||
                        call.verb == Verb::fail || call.verb == Verb::release) &&
                       call.tries == 0 && !call.all_or_none && world_.may_submit() && chance(0.5);
  if (submits)
    world_.submit(call);
  else
    world_.perform(call);
  learn(call);
  const bool repeatable = !call.items.empty() || call.verb == Verb::claim;
  const bool twice = !call.operation.empty() && chance(0.05);
  // The same edit again is the one call that can happen twice without anybody seeing it.
  const bool once_only = call.operation.empty() && (submits || call.verb == Verb::edit);
  if (!repeatable || !(call.doubtful() || twice) || once_only) return;
  unsure_ = std::move(call);
  unsure_life_ = world_.lives(process_);
}

bool Actor::chance(double probability) {
  return world_.random().chance(probability);
}

std::size_t Actor::below(std::size_t bound) {
  return static_cast<std::size_t>(world_.random().below(bound));
}

Duration Actor::draw_delay() {
  constexpr std::array<Duration, 6> kDelays = {1ms, 10ms, 200ms, 5s, 2min, 40min};
  return kDelays[below(kDelays.size())];
}

NewJob Actor::draw_job(const Call& call, std::size_t item, const std::string& suffix) {
  NewJob job;
  job.queue = world_.queue_names()[below(world_.queue_names().size())];
  if (chance(0.5)) job.id = "j" + std::to_string(below(kIds));
  if (chance(0.6)) job.group = world_.group_names()[below(world_.group_names().size())];
  job.payload = nonce_of(call, item) + suffix;
  if (chance(0.01)) job.payload += " " + std::string(3'000, 'x');
  if (chance(0.4)) job.priority = static_cast<std::int32_t>(below(3));
  if (chance(0.25)) job.delay = draw_delay();
  if (job.delay == Duration{} && chance(0.05)) job.due = world_.now() + draw_delay() - 1s;
  if (job.due) job.due = std::chrono::floor<std::chrono::milliseconds>(*job.due);
  if (chance(0.15)) job.ttl = draw_delay();
  if (chance(0.1)) job.retry = RetryPolicy{.attempts_max = 1, .base = 10ms};
  job.hold = chance(0.06);
  return job;
}

std::unique_ptr<Actor> make_client(World& world, std::size_t process) {
  return std::make_unique<Client>(world, process);
}

std::unique_ptr<Actor> make_sweeper(World& world, std::size_t process) {
  return std::make_unique<Sweeper>(world, process);
}

}  // namespace sluice::queue::sim
