// SPDX-License-Identifier: MIT
// When a job gives its unique key back: at its end, with a lane that it did not declare, after a
// window.
#include <sluice/queue.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "queue/unique_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class UniqueReturnTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(UniqueReturnTest);

const std::vector<Lane> kUntilClaimed = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready};

// -------------------------------------------------------------------------------------- at its end

using End = std::function<void(const Bench&)>;

TEST_P(UniqueReturnTest, every_end_gives_the_key_back_at_once) {
  const std::pair<const char*, End> ends[] = {
      {"ack", [](auto& b) { must(b->ack({.queue = "q", .token = must_claim(b, "q").token})); }},
      {"fail for good",
       [](auto& b) {
         must(b->fail({.queue = "q", .token = must_claim(b, "q").token, .dead = true}));
       }},
      {"last attempt",
       [](auto& b) { must(b->fail({.queue = "q", .token = must_claim(b, "q").token})); }},
      {"lapse",
       [](auto& b) {
         must_claim(b, "q", 1s);
         b.advance(1s);
         EXPECT_EQ(must(b->sweep()).lapsed, 1u);
       }},
      {"cancel", [](auto& b) { must(b->cancel({"q", "first"})); }},
      {"expiry",
       [](auto& b) {
         b.advance(1h);
         EXPECT_EQ(must(b->sweep()).expired, 1u);
       }},
      {"expiry, met by a claim", [](auto& b) {
         b.advance(1h);
         EXPECT_TRUE(must(b->claim({.queues = {"q"}})).empty());
       }}};
  for (const Duration retention : {Duration{}, Duration(2h)})
    for (const auto& [name, end] : ends) {
      SCOPED_TRACE(name);
      const Bench bench = open();
      must(bench->configure("q", {.retry = {.attempts_max = 1},
                                  .done_retention = retention,
                                  .dead_retention = retention}));
      NewJob first = keyed("first");
      first.ttl = 1h;
      must(bench->enqueue(first));
      end(bench);
      EXPECT_EQ(stored_keys(bench), 0u);
      EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(UniqueReturnTest, a_key_of_finished_lanes_goes_with_the_job) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 10min, .dead_retention = 10min}));
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    for (const bool purge : {false, true}) {
      bring(bench, keyed("first", UniquePolicy::reject, kAll), lane);
      EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
      if (purge) {
        EXPECT_EQ(must(bench->purge("q", lane)), 1u);
      } else {
        bench.advance(10min);
        EXPECT_EQ(must(bench->sweep()).removed, 1u);
      }
      EXPECT_EQ(stored_keys(bench), 0u);
    }
  }
  EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
  EXPECT_EQ(breaches(bench), "");
}

// ----------------------------------------------------------------------------------- until claimed

TEST_P(UniqueReturnTest, until_claimed_means_that_the_claim_gives_the_key_back) {
  const Bench bench = open();
  must(bench->enqueue(keyed("first", UniquePolicy::reject, kUntilClaimed)));
  const Lease lease = must_claim(bench, "q");
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(stored_keys(bench), 0u);
  EXPECT_EQ(must(bench->enqueue(keyed("second", UniquePolicy::replace, kUntilClaimed))), "second");
  EXPECT_EQ(lane_of(bench, {"q", "first"}), "leased");
  must(bench->ack({.queue = "q", .token = lease.token}));
  EXPECT_EQ(key_of(bench, "second"), "k") << "an ack gives back nothing that is another's";
  EXPECT_EQ(code_of(bench->enqueue(keyed("third"))), Code::already_exists);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueReturnTest, a_job_that_comes_back_takes_the_key_again_or_does_without) {
  const std::pair<const char*, std::function<void(const Bench&, const Lease&)>> ways[] = {
      {"fail",
       [](auto& b, auto& lease) {
         must(b->fail({.queue = "q", .token = lease.token, .delay = 1s}));
       }},
      {"release", [](auto& b, auto& lease) { must(b->release({"q", lease.token})); }},
      {"release later", [](auto& b, auto& lease) { must(b->release({"q", lease.token, 1s})); }},
      {"break_lease", [](auto& b, auto& lease) { must(b->break_lease({"q", lease.id})); }},
      {"lapse", [](auto& b, auto&) {
         b.advance(1min);
         must(b->sweep());
       }}};
  for (const auto& [name, come_back] : ways)
    for (const bool free : {true, false}) {
      SCOPED_TRACE(std::string(name) + (free ? ", free" : ", taken"));
      const Bench bench = open();
      must(bench->enqueue(keyed("first", UniquePolicy::reject, kUntilClaimed)));
      const Lease lease = must_claim(bench, "q", 1min);
      if (!free) {
        NewJob second = keyed("second", UniquePolicy::reject, kUntilClaimed);
        second.hold = true;
        must(bench->enqueue(second));
      }
      come_back(bench, lease);
      EXPECT_EQ(key_of(bench, "first"), free ? "k" : "");
      EXPECT_EQ(must(bench->enqueue(keyed("third", UniquePolicy::keep))),
                free ? "first" : "second");
      EXPECT_EQ(breaches(bench), "");
      if (free) continue;
      must(bench->cancel({"q", "second"}));
      bench.advance(1s);
      const Lease again = must_claim(bench, "q");
      must(bench->release({"q", again.token}));
      EXPECT_EQ(key_of(bench, "first"), "k") << "it is free now";
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(UniqueReturnTest, a_job_goes_in_and_out_of_lanes_that_it_declared) {
  const Bench bench = open();
  NewJob job = keyed("first", UniquePolicy::reject, {Lane::held, Lane::leased});
  must(bench->enqueue(job));
  EXPECT_EQ(key_of(bench, "first"), "") << "ready is not declared";
  must(bench->hold({"q", "first"}));
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(breaches(bench), "");
  must(bench->unhold({"q", "first"}));
  EXPECT_EQ(stored_keys(bench), 0u);
  const Lease lease = must_claim(bench, "q");
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
  must(bench->ack({.queue = "q", .token = lease.token}));
  EXPECT_EQ(stored_keys(bench), 0u);
  EXPECT_EQ(breaches(bench), "");
}

// -------------------------------------------------------------------------------------- the window

TEST_P(UniqueReturnTest, a_window_outlives_the_job) {
  for (const bool lanes : {true, false}) {
    const Bench bench = open();
    NewJob first = keyed("first", UniquePolicy::reject, lanes ? kUnfinished : std::vector<Lane>{});
    first.unique->window = 10min;
    must(bench->enqueue(first));
    EXPECT_EQ(key_of(bench, "first"), lanes ? "k" : "") << "without lanes it only leaves a trace";
    bench.advance(1min);
    must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
    bench.advance(9min - 1ms);
    must(bench->sweep());
    EXPECT_EQ(breaches(bench), "");
    const Dump before = dump(bench);
    EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
    EXPECT_EQ(must(bench->enqueue(keyed("second", UniquePolicy::keep))), "first") << "though gone";
    EXPECT_EQ(code_of(bench->enqueue(keyed("second", UniquePolicy::replace))),
              Code::already_exists);
    EXPECT_EQ(dump(bench), before);
    bench.advance(1ms);
    EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second") << "nobody has swept";
    bench.advance(1h);
    must(bench->sweep());
    EXPECT_EQ(key_of(bench, "second"), "k") << "the note of the old window is not about it";
    EXPECT_EQ(stored_keys(bench), 1u);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueReturnTest, the_agenda_erases_a_key_whose_window_is_over) {
  for (const bool by_claim : {true, false}) {
    const Bench bench = open();
    NewJob first = keyed("first");
    first.unique->window = 10min;
    must(bench->enqueue(first));
    must(bench->cancel({"q", "first"}));
    EXPECT_EQ(stored_keys(bench), 1u);
    const auto look = [&] {
      if (by_claim)
        EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
      else
        must(bench->sweep());
    };
    bench.advance(10min - 1ms);
    look();
    EXPECT_EQ(stored_keys(bench), 1u);
    bench.advance(1ms);
    look();
    EXPECT_EQ(stored_keys(bench), 0u);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueReturnTest, a_job_in_its_lanes_keeps_the_key_after_the_window) {
  const Bench bench = open();
  NewJob first = keyed("first");
  first.unique->window = 10min;
  must(bench->enqueue(first));
  bench.advance(1h);
  must(bench->sweep());
  EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
  must(bench->cancel({"q", "first"}));
  EXPECT_EQ(stored_keys(bench), 0u);
  EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueReturnTest, a_job_that_comes_back_within_its_window_has_its_key_again) {
  const Bench bench = open();
  NewJob first = keyed("first", UniquePolicy::reject, kUntilClaimed);
  first.unique->window = 10min;
  must(bench->enqueue(first));
  const Lease lease = must_claim(bench, "q");
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(code_of(bench->enqueue(keyed("second", UniquePolicy::replace))), Code::already_exists);
  must(bench->release({"q", lease.token}));
  EXPECT_EQ(key_of(bench, "first"), "k");
  bench.advance(20min);
  must(bench->sweep());
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
  EXPECT_EQ(breaches(bench), "");
  must_claim(bench, "q");
  EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
