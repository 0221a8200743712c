// SPDX-License-Identifier: MIT
#include <array>

#include "tests/queue/sim/actor.h"
#include "tests/queue/sim/world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

/// Does every verb of an operator to jobs in every lane, and turns every knob.
class Operator final : public Actor {
 public:
  using Actor::Actor;

 private:
  void step() override {
    const double kind = world_.random().unit();
    if (kind < 0.6) return touch_job();
    if (kind < 0.85) return change_limit();
    if (kind < 0.95) return pause_or_resume();
    purge();
  }

  const QueueSight* draw_queue() {
    const auto& queues = world_.sight().queues;
    return queues.empty() ? nullptr : &queues[below(queues.size())];
  }

  void touch_job() {
    constexpr std::array kVerbs = {Verb::cancel, Verb::requeue,     Verb::edit,   Verb::hold,
                                   Verb::unhold, Verb::break_lease, Verb::remove, Verb::requeue};
    const QueueSight* queue = draw_queue();
    if (queue == nullptr || queue->jobs.empty()) return;
    Call call = world_.new_call(kVerbs[below(kVerbs.size())], process_, chance(0.4));
    const bool batches =
        call.verb == Verb::cancel || call.verb == Verb::requeue || call.verb == Verb::remove;
    const std::size_t count = batches && chance(0.2) ? 2 + below(3) : 1;
    call.batch = count > 1;
    call.all_or_none = call.batch && chance(0.3);
    for (std::size_t i = 0; i < count; ++i) {
      const Job& job = queue->jobs[below(queue->jobs.size())].job;
      Item item{.queue = job.queue, .id = chance(0.97) ? job.id : "nobody"};
      item.flag = call.verb == Verb::requeue && chance(0.2);
      if (call.verb == Verb::edit) item.edit = draw_edit(item, job);
      call.items.push_back(item);
    }
    make(call);
  }

  // Never to the same priority: whether that has happened cannot be seen.
  EditRequest draw_edit(const Item& item, const Job& job) {
    EditRequest edit{.queue = item.queue, .id = item.id};
    const auto other =
        static_cast<std::int32_t>((static_cast<std::size_t>(job.priority) + 1 + below(2)) % 3);
    if (chance(0.5)) edit.priority = other;
    if (chance(0.4))
      edit.due = std::chrono::floor<std::chrono::milliseconds>(world_.now() + draw_delay()) -
                 (chance(0.3) ? 10min : 0min);
    if (!edit.priority && !edit.due) edit.priority = other;
    return edit;
  }

  std::optional<std::uint32_t> draw_limit() {
    if (chance(0.25)) return std::nullopt;
    return static_cast<std::uint32_t>(chance(0.1) ? 0 : 1 + below(3));
  }

  void change_limit() {
    const QueueSight* queue = draw_queue();
    if (queue == nullptr) return;
    const bool of_group = chance(0.4);
    Call call = world_.new_call(of_group ? Verb::limit_group : Verb::configure, process_, false);
    call.queue = queue->queue.name;
    if (of_group) {
      call.group = world_.group_names()[below(world_.group_names().size())];
      call.limit = draw_limit();
      return make(call);
    }
    call.config = queue->queue.config;
    switch (below(6)) {
      case 0:
        call.config.active_max = draw_limit();
        break;
      case 1:
        call.config.group_max = draw_limit();
        break;
      case 2:
        call.config.backlog_max = draw_limit();
        break;
      case 3:
        call.config.rate = Rate{.jobs = 1 + below(3), .per = 1s, .burst = 1 + below(3)};
        break;
      case 4:
        call.config.rate.reset();
        break;
      default:
        call.config = world_.draw_config();
        break;
    }
    make(call);
  }

  void pause_or_resume() {
    const QueueSight* queue = draw_queue();
    if (queue == nullptr) return;
    const bool resume = queue->queue.paused || chance(0.2);
    Call call = world_.new_call(resume ? Verb::resume : Verb::pause, process_, false);
    call.queue = queue->queue.name;
    make(call);
  }

  void purge() {
    constexpr std::array kLanes = {Lane::done, Lane::dead, Lane::cancelled};
    const QueueSight* queue = draw_queue();
    if (queue == nullptr) return;
    Call call = world_.new_call(Verb::purge, process_, false);
    call.queue = queue->queue.name;
    call.lane = kLanes[below(3)];
    call.count_max = chance(0.5) ? 1 : 100;
    make(call);
  }
};

}  // namespace

std::unique_ptr<Actor> make_operator(World& world, std::size_t process) {
  return std::make_unique<Operator>(world, process);
}

}  // namespace sluice::queue::sim
