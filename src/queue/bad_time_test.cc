// SPDX-License-Identifier: MIT
// Delays, leases and due times: what is just within a limit is let through, what is beyond refused.
#include <gtest/gtest.h>
#include <sluice/queue.h>

#include <string>
#include <utility>
#include <vector>

#include "queue/bad_input_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BadTimeTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BadTimeTest);

TEST_P(BadTimeTest, times_are_let_through_up_to_their_limits) {
  try_each(GetParam(), [](Token token) -> std::vector<Case> {
    std::vector<Case> cases;
    const std::pair<Duration, Code> delays[] = {{-1ms, Code::invalid_argument},
                                                {Duration(-1), Code::invalid_argument},
                                                {Duration::min(), Code::invalid_argument},
                                                {0ms, Code::ok},
                                                {kDelayMax, Code::ok},
                                                {kDelayMax + 1ms, Code::invalid_argument},
                                                {Duration::max(), Code::invalid_argument}};
    for (const auto& [delay, code] : delays) {
      const std::string text = " of " + std::to_string(delay.count()) + " ns";
      cases.push_back({"enqueue delay" + text, code, [delay](auto& b) {
                         return status_of(b->enqueue({.queue = "work", .delay = delay}));
                       }});
      cases.push_back({"ttl" + text, code, [delay](auto& b) {
                         return status_of(b->enqueue({.queue = "work", .ttl = delay}));
                       }});
      cases.push_back({"fail delay" + text, code, [=](auto& b) {
                         return b->fail({.queue = "work", .token = token, .delay = delay});
                       }});
      cases.push_back({"release delay" + text, code, [=](auto& b) {
                         return b->release({.queue = "work", .token = token, .delay = delay});
                       }});
    }
    const std::pair<Duration, Code> leases[] = {{-1ms, Code::invalid_argument},
                                                {0ms, Code::invalid_argument},
                                                {kLeaseMin - Duration(1), Code::invalid_argument},
                                                {kLeaseMin, Code::ok},
                                                {kLeaseMax, Code::ok},
                                                {kLeaseMax + 1ms, Code::invalid_argument},
                                                {Duration::max(), Code::invalid_argument}};
    for (const auto& [lease, code] : leases) {
      const std::string text = " of " + std::to_string(lease.count()) + " ns";
      cases.push_back({"claim lease" + text, code, [lease](auto& b) {
                         return status_of(b->claim({.queues = {"work"}, .lease = lease}));
                       }});
      cases.push_back({"extend lease" + text, code, [=](auto& b) {
                         return status_of(
                             b->extend({.queue = "work", .token = token, .lease = lease}));
                       }});
      cases.push_back({"configured lease" + text, code,
                       [lease](auto& b) { return b->configure("work", {.lease = lease}); }});
    }
    return cases;
  });
}

TEST_P(BadTimeTest, a_due_time_is_let_through_up_to_its_limit) {
  try_each(GetParam(), [](Token) -> std::vector<Case> {
    std::vector<Case> cases;
    const WallTime now = ManualClock().wall();
    const std::pair<WallTime, Code> dues[] = {{WallTime::min(), Code::ok},
                                              {WallTime(Duration(-1)), Code::ok},
                                              {now - 1h, Code::ok},
                                              {now, Code::ok},
                                              {now + kDelayMax, Code::ok},
                                              {now + kDelayMax + 1ms, Code::invalid_argument},
                                              {WallTime::max(), Code::invalid_argument}};
    for (const auto& [due, code] : dues) {
      const std::string text = " at " + std::to_string(due.time_since_epoch().count());
      cases.push_back({"enqueue due" + text, code, [due](auto& b) {
                         return status_of(b->enqueue({.queue = "work", .due = due}));
                       }});
      cases.push_back({"edit due" + text, code, [due](auto& b) {
                         return b->edit({.queue = "work", .id = "ready", .due = due});
                       }});
    }
    return cases;
  });
}

TEST_P(BadTimeTest, a_delay_and_a_due_time_together_are_refused) {
  const Scene fresh = scene(GetParam());
  try_case(fresh.bench,
           {"both", Code::invalid_argument, [](auto& b) {
              return status_of(b->enqueue({.queue = "work", .delay = 1s, .due = b.now() + 1s}));
            }});
}

}  // namespace
}  // namespace sluice::queue
