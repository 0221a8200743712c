// SPDX-License-Identifier: MIT
// Those who enqueue jobs with unique keys, and jobs that wait for others.
#include <algorithm>
#include <array>

#include "tests/queue/sim/flows/flow_world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKeys = 3;
constexpr std::size_t kRecent = 24;

class KeyProducer final : public FlowActor {
 public:
  using FlowActor::FlowActor;

  void step() override {
    if (world_.crowded()) return;
    std::vector<NewJob> jobs;
    const std::size_t count = chance(0.25) ? 2 + below(3) : 1;
    for (std::size_t i = 0; i < count; ++i) jobs.push_back(draw_job());
    world_.enqueue(process_, std::move(jobs), "keys");
  }

 private:
  NewJob draw_job() {
    NewJob job{.queue = draw_queue(), .payload = world_.nonce()};
    if (chance(0.6)) job.id = "k-" + job.payload;
    job.unique = draw_unique();
    if (chance(0.3)) job.delay = std::array<Duration, 3>{10ms, 1s, 2min}[below(3)];
    if (job.delay > Duration{}) world_.hint(world_.now() + job.delay);
    job.hold = chance(0.1);
    if (chance(0.1)) job.ttl = 5s;
    if (job.unique->window > Duration{}) world_.hint(world_.now() + job.unique->window);
    return job;
  }

  Unique draw_unique() {
    constexpr std::array kPolicies = {UniquePolicy::reject, UniquePolicy::keep,
                                      UniquePolicy::replace};
    Unique unique{.key = "key" + std::to_string(below(kKeys)), .policy = kPolicies[below(3)]};
    constexpr std::array<Duration, 3> kWindows = {1s, 90s, 10min};
    if (chance(0.3)) unique.window = kWindows[below(3)];
    switch (below(6)) {
      case 0:
        std::erase(unique.lanes, Lane::leased);
        break;
      case 1:
        unique.lanes = {Lane::ready, Lane::leased};
        break;
      case 2:
        unique.lanes.push_back(Lane::done);
        unique.lanes.push_back(Lane::dead);
        break;
      case 3:
        unique.lanes.clear();
        if (unique.window == Duration{}) unique.window = kWindows[below(3)];
        break;
      default:
        break;
    }
    return unique;
  }
};

class GraphProducer final : public FlowActor {
 public:
  GraphProducer(FlowWorld& world, std::size_t process)
      : FlowActor(world, process), wide_(chance(0.1)) {}

  void step() override {
    if (world_.crowded()) return;
    const double kind = world_.random().unit();
    if (wide_ && chance(0.3)) return wide();
    if (kind < 0.2) return chain();
    if (kind < 0.4) return diamond();
    if (kind < 0.5) return fan(2 + below(5));
    if (kind < 0.85) return attach();
    wait_for_more();
  }

 private:
  AfterPolicy draw_policy() {
    constexpr std::array kPolicies = {AfterPolicy::success, AfterPolicy::end, AfterPolicy::cancel};
    return kPolicies[below(3)];
  }

  NewJob draw_job() {
    NewJob job{.queue = draw_queue(), .payload = world_.nonce()};
    job.id = "g-" + job.payload;
    job.hold = chance(0.05);
    if (chance(0.1)) job.delay = chance(0.5) ? 1s : 2min;
    if (job.delay > Duration{}) world_.hint(world_.now() + job.delay);
    if (chance(0.05)) job.ttl = 30s;
    return job;
  }

  void wait_for(NewJob& job, const NewJob& parent) {
    job.after.push_back({.queue = parent.queue, .id = parent.id, .policy = draw_policy()});
  }

  void chain() {
    std::vector<NewJob> jobs;
    for (std::size_t i = 0; i < 2 + below(5); ++i) {
      jobs.push_back(draw_job());
      if (i > 0) wait_for(jobs[i], jobs[i - 1]);
    }
    world_.enqueue(process_, std::move(jobs), "chain");
  }

  void diamond() {
    std::vector<NewJob> jobs = {draw_job(), draw_job(), draw_job(), draw_job()};
    wait_for(jobs[1], jobs[0]);
    wait_for(jobs[2], jobs[0]);
    wait_for(jobs[3], jobs[1]);
    wait_for(jobs[3], jobs[2]);
    world_.enqueue(process_, std::move(jobs), "diamond");
  }

  // One, then many that wait for it, then one that waits for all of them.
  void fan(std::size_t width) {
    std::vector<NewJob> jobs = {draw_job()};
    for (std::size_t i = 0; i < width; ++i) {
      jobs.push_back(draw_job());
      jobs.back().queue = jobs[0].queue;
      wait_for(jobs.back(), jobs[0]);
    }
    NewJob last = draw_job();
    for (std::size_t i = 1; i <= width; ++i) wait_for(last, jobs[i]);
    jobs.push_back(last);
    world_.enqueue(process_, std::move(jobs), "fan of " + std::to_string(width));
  }

  void wide() {
    wide_ = false;
    fan(100 + below(200));
  }

  const Life* draw_life() {
    const auto& lives = world_.ledger().lives();
    if (lives.empty()) return nullptr;
    return &lives[lives.size() - 1 - below(std::min(lives.size(), kRecent))];
  }

  std::vector<After> draw_afters() {
    std::vector<After> afters;
    for (std::size_t i = 0; i < 1 + below(3); ++i) {
      const Life* life = draw_life();
      if (life == nullptr) continue;
      const auto same = [&](const After& after) {
        return after.queue == life->queue && after.id == life->id;
      };
      if (std::ranges::none_of(afters, same))
        afters.push_back({.queue = life->queue, .id = life->id, .policy = draw_policy()});
    }
    return afters;
  }

  void attach() {
    NewJob job = draw_job();
    if (chance(0.4)) job.id.clear();
    job.after = draw_afters();
    world_.enqueue(process_, {job}, "attach");
  }

  void wait_for_more() {
    const Life* chosen = nullptr;
    for (unsigned tries = 0; tries < 8 && chosen == nullptr; ++tries) {
      const Life* life = draw_life();
      if (life != nullptr && (life->lane == Lane::waiting || life->lane == Lane::held))
        chosen = life;
    }
    if (chosen == nullptr) return;
    const AddAfterRequest request{.queue = chosen->queue, .id = chosen->id, .after = draw_afters()};
    std::string text = "add_after " + request.queue + "/" + request.id;
    for (const After& after : request.after)
      text += " " + after.queue + "/" + after.id + " " + policy_name(after.policy);
    world_.make({.text = text,
                 .process = process_,
                 .with_operation = chance(0.5),
                 .run = [this, request](Queues& queues, FlowCall& call) {
                   const Status status = queues.add_after(request, call.options());
                   world_.ledger().expect_more_after(request.queue, request.id);
                   return status;
                 }});
  }

  bool wide_;
};

}  // namespace

std::unique_ptr<FlowActor> make_key_producer(FlowWorld& world, std::size_t process) {
  return std::make_unique<KeyProducer>(world, process);
}

std::unique_ptr<FlowActor> make_graph_producer(FlowWorld& world, std::size_t process) {
  return std::make_unique<GraphProducer>(world, process);
}

}  // namespace sluice::queue::sim
