// SPDX-License-Identifier: MIT
// The callbacks of a batch: what they may be, and what becomes of them when it ends.
#include <sluice/queue.h>

#include <string>

#include "queue/batch_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BatchCallbackTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BatchCallbackTest);

TEST_P(BatchCallbackTest, a_callback_has_what_it_was_given) {
  const Bench bench = open();
  must(bench->open_batch(
      {.queue = "q",
       .id = "b",
       .on_success = NewJob{.queue = "cb",
                            .group = "g",
                            .payload = std::string(kTemplateBytesMax, 'p'),
                            .priority = 3,
                            .delay = 10min,
                            .ttl = 1h,
                            .retry = RetryPolicy{.attempts_max = 7}},
       .on_end = NewJob{.queue = "q", .payload = "end", .label = "high", .hold = true}}));
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  bench.advance(5min);
  ack_one(bench);
  const Batch batch = look_b(bench);
  const Job success = must(bench->get({"cb", batch.success_id}, {.payload = true}));
  EXPECT_EQ(success.group, "g");
  EXPECT_EQ(success.payload, std::string(kTemplateBytesMax, 'p'));
  EXPECT_EQ(success.priority, 3);
  EXPECT_EQ(success.due, bench.now() + 10min) << "from the end on";
  EXPECT_EQ(success.expires, bench.now() + 1h);
  EXPECT_EQ(success.retry, (RetryPolicy{.attempts_max = 7}));
  const Job end = must(bench->get({"q", batch.end_id}, {.payload = true}));
  EXPECT_EQ(end.lane, Lane::held);
  EXPECT_EQ(end.payload, "end");
  EXPECT_EQ(end.priority, 0);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCallbackTest, what_a_callback_may_not_be) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "there"}));
  const NewJob bad[] = {
      {.queue = ""},
      {.queue = "q", .payload = std::string(kTemplateBytesMax + 1, 'p')},
      {.queue = "q", .unique = Unique{.key = "k"}},
      {.queue = "q", .after = {{.id = "there"}}},
      {.queue = "q", .batch = "b"},
      {.queue = "q", .delay = -1ms},
      {.queue = "q", .priority = 1, .label = "high"},
  };
  const Dump before = dump(bench);
  for (const NewJob& job : bad) {
    EXPECT_EQ(code_of(bench->open_batch({.queue = "q", .id = "b", .on_success = job})),
              Code::invalid_argument);
    EXPECT_EQ(code_of(bench->open_batch({.queue = "q", .id = "b", .on_end = job})),
              Code::invalid_argument);
  }
  EXPECT_EQ(dump(bench), before);
}

TEST_P(BatchCallbackTest, a_callback_whose_id_is_taken_is_not_enqueued) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "cb", .id = "success", .hold = true}));
  open_b(bench);
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  ack_one(bench);
  const Batch batch = look_b(bench);
  EXPECT_TRUE(batch.succeeded());
  EXPECT_EQ(batch.success_id, "");
  EXPECT_EQ(batch.end_id, "end");
  EXPECT_NE(batch.error.find("\"success\""), std::string::npos) << batch.error;
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(must(bench->count("cb")).total(), 2u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCallbackTest, two_callbacks_of_the_same_id_are_one) {
  const Bench bench = open();
  must(bench->open_batch({.queue = "q",
                          .id = "b",
                          .on_success = NewJob{.queue = "cb", .id = "same", .payload = "success"},
                          .on_end = NewJob{.queue = "cb", .id = "same", .payload = "end"}}));
  must(bench->seal_batch(kBatch));
  EXPECT_EQ(look_b(bench).success_id, "same");
  EXPECT_EQ(look_b(bench).end_id, "");
  EXPECT_NE(look_b(bench).error, "");
  EXPECT_EQ(must(bench->get({"cb", "same"}, {.payload = true})).payload, "success");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCallbackTest, a_callback_that_its_queue_refuses_now_does_not_stop_the_last_ack) {
  const Bench bench = open();
  must(bench->open_batch(
      {.queue = "q", .id = "b", .on_end = NewJob{.queue = "cb", .label = "high"}}));
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  must(bench->configure("cb", {.labels = {}}));
  ack_one(bench);
  EXPECT_TRUE(look_b(bench).ended);
  EXPECT_NE(look_b(bench).error, "");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCallbackTest, callbacks_pass_the_backlog_cap) {
  const Bench bench = open();
  must(bench->configure("cb", {.backlog_max = 0}));
  open_b(bench);
  EXPECT_EQ(code_of(bench->enqueue({.queue = "cb"})), Code::limit_exceeded);
  must(bench->seal_batch(kBatch));
  EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
