// SPDX-License-Identifier: MIT
// Those who follow the events of a queue: they see every move in order, or are told of a gap.
#include <map>
#include <vector>

#include "tests/queue/sim/flows/commit_order.h"
#include "tests/queue/sim/flows/flow_world.h"

namespace sluice::queue::sim {
namespace {

constexpr std::size_t kLooks = 8;

class Follower final : public FlowActor {
 public:
  Follower(FlowWorld& world, std::size_t process)
      : FlowActor(world, process), following_(world.names().size()) {}

  void step() override {
    const std::size_t queue = below(following_.size());
    if (chance(0.03)) following_[queue] = {};
    const std::size_t limit = chance(0.6) ? 1 + below(6) : 200;
    world_.make({.text = "follow " + world_.names()[queue] + " x" + std::to_string(limit),
                 .process = process_,
                 .repeatable = false,
                 .run = [this, queue, limit](Queues& queues, FlowCall& call) {
                   Following& following = following_[queue];
                   if (!following.begun && chance(0.3)) return begin_at_the_end(queues, queue);
                   return read(queues, queue, limit, call);
                 }});
  }

 private:
  struct Following {
    bool begun = false;
    std::string cursor;
    std::size_t next = 0;  // The place in the stream of the event that follows.
    std::map<std::string, Lane> lanes;
  };

  Status begin_at_the_end(Queues& queues, std::size_t queue) {
    const auto cursor = queues.events_end(world_.names()[queue]);
    if (!cursor) return cursor.error();
    Following& following = following_[queue];
    following.cursor = *cursor;
    following.begun = !cursor->empty();
    following.next = world_.ledger().stream(queue).size();
    return {};
  }

  Status read(Queues& queues, std::size_t queue, std::size_t limit, FlowCall& call) {
    Following& following = following_[queue];
    Ledger& ledger = world_.ledger();
    const auto page =
        queues.events({.queue = world_.names()[queue], .after = following.cursor, .limit = limit});
    if (!page) return page.error();
    call.answer = std::to_string(page->events.size()) + " from " + std::to_string(following.next) +
                  (page->gap ? " after a gap" : "");
    if (page->gap) {
      world_.tally().hit(FlowProbe::events_gap);
      if (following.cursor.empty()) ledger.fail("events: a gap before the oldest event");
      following.lanes.clear();
    }
    // From the oldest on, what one shard has trimmed may lie between the events of another.
    const bool holes = page->gap || following.cursor.empty();
    for (const Event& event : page->events) {
      const auto at = ledger.position(queue, event.cursor);
      if (!at) {
        ledger.fail("events: one that never happened: " + event.id);
        return {};
      }
      if (!following.begun) world_.tally().hit(FlowProbe::events_from_the_oldest);
      if (*at < following.next || (*at > following.next && !holes)) {
        ledger.fail("events: number " + std::to_string(*at) + " of " + world_.names()[queue] +
                    " where " + std::to_string(following.next) + " was due");
        return {};
      }
      const Event& told = ledger.stream(queue)[*at];
      if (told.id != event.id || told.from != event.from || told.to != event.to ||
          told.attempt != event.attempt || told.at != event.at)
        ledger.fail("events: another one at the same cursor: " + event.id);
      following.begun = true;
      following.next = *at + 1;
      following.lanes[event.id] = event.to;
    }
    skip_trimmed(queue, *page, holes);
    following.cursor = page->next;
    after_page(queues, queue, *page, limit);
    return {};
  }

  // A page without events may lead past those that are gone.
  void skip_trimmed(std::size_t queue, const EventPage& page, bool holes) {
    Following& following = following_[queue];
    if (!page.events.empty() || page.next == following.cursor) return;
    const auto at = world_.ledger().position(queue, page.next);
    if (!holes || !at || *at < following.next)
      return world_.ledger().fail("events: led from " + std::to_string(following.next) + " to " +
                                  page.next + " by an empty page");
    following.next = *at + 1;
    following.begun = true;
  }

  void after_page(Queues& queues, std::size_t queue, const EventPage& page, std::size_t limit) {
    Following& following = following_[queue];
    const auto& stream = world_.ledger().stream(queue);
    if (page.events.size() == limit && following.next < stream.size() &&
        commit_of(stream[following.next].cursor) == commit_of(page.events.back().cursor))
      world_.tally().hit(FlowProbe::events_page_within_commit);
    if (page.events.size() == limit || page.gap || !following.begun) return;
    if (following.next != stream.size())
      return world_.ledger().fail("events: " + std::to_string(stream.size() - following.next) +
                                  " of " + world_.names()[queue] + " are not told");
    compare(queues, queue);
  }

  // Caught up: what the events say is what the jobs say.
  void compare(Queues& queues, std::size_t queue) {
    const Following& following = following_[queue];
    std::size_t looks = 0;
    for (auto at = following.lanes.rbegin(); at != following.lanes.rend() && looks < kLooks; ++at) {
      ++looks;
      const auto job = queues.get({world_.names()[queue], at->first}, {});
      const bool right = job ? job->lane == at->second : at->second >= Lane::done;
      if (!right && (job || job.error().code() == Code::not_found))
        return world_.ledger().fail("events: " + at->first + " should be " + lane_name(at->second));
    }
    if (looks > 0) world_.tally().hit(FlowProbe::events_caught_up);
  }

  std::vector<Following> following_;
};

}  // namespace

std::unique_ptr<FlowActor> make_follower(FlowWorld& world, std::size_t process) {
  return std::make_unique<Follower>(world, process);
}

}  // namespace sluice::queue::sim
