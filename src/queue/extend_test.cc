// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ExtendTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ExtendTest);

TEST_P(ExtendTest, counts_from_now_and_can_shorten) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j"}));
  const Lease lease = must_claim(bench, "q", 10s);
  bench.advance(9s);
  EXPECT_EQ(must(bench->extend({.queue = "q", .token = lease.token, .lease = 20s})),
            bench.now() + 20s);
  EXPECT_EQ(must(bench->extend({.queue = "q", .token = lease.token})), bench.now() + 60s)
      << "the queue's own";
  EXPECT_EQ(must(bench->extend({.queue = "q", .token = lease.token, .lease = 1ms})),
            bench.now() + 1ms);
  EXPECT_EQ(breaches(bench), "");
  bench.advance(1ms);
  EXPECT_EQ(bench->extend({.queue = "q", .token = lease.token}).error().code(), Code::lease_lost);
  EXPECT_EQ(must(bench->sweep()).lapsed, 1u) << "the old deadlines are gone";
}

TEST_P(ExtendTest, progress_is_shown_until_the_next_claim) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j"}));
  const Lease lease = must_claim(bench, "q");
  must(bench->extend({.queue = "q", .token = lease.token, .progress = "half"}));
  must(bench->extend({.queue = "q", .token = lease.token}));
  EXPECT_EQ(must(bench->get({"q", "j"})).progress, "half");
  must(bench->release({.queue = "q", .token = lease.token}));
  must_claim(bench, "q");
  EXPECT_EQ(must(bench->get({"q", "j"})).progress, "");
}

}  // namespace
}  // namespace sluice::queue
