// SPDX-License-Identifier: MIT
// Payloads, results, texts, labels, priorities and retry policies: what is just within a limit is
// let through and kept whole, what is beyond is refused or cut.
#include <gtest/gtest.h>
#include <sluice/queue.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "queue/bad_input_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BadInputTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BadInputTest);

// ------------------------------------------------------------------------------------------- sizes

std::string bytes_of(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

TEST_P(BadInputTest, payloads_of_all_sizes_come_back_as_they_went_in) {
  const Bench bench = open();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1'024}, std::size_t{1'025}, std::size_t{64'000},
        std::size_t{64'001}, kPayloadBytesMax - 1, kPayloadBytesMax}) {
    const std::string payload = bytes_of(size);
    const JobRef ref{"work", must(bench->enqueue({.queue = "work", .payload = payload}))};
    EXPECT_TRUE(must(bench->get(ref, {.payload = true})).payload == payload) << size;
    EXPECT_EQ(must(bench->get(ref)).payload, std::nullopt) << size;
    EXPECT_EQ(must(bench->get(ref)).payload_bytes, size);
    const Lease lease = must_claim(bench, "work");
    EXPECT_TRUE(lease.payload == payload) << size;
    must(bench->ack({.queue = "work", .token = lease.token}));
    EXPECT_EQ(breaches(bench), "") << size;
  }
}

TEST_P(BadInputTest, an_edited_payload_replaces_every_byte_of_the_old_one) {
  const Bench bench = open();
  const JobRef ref{"work", must(bench->enqueue({.queue = "work", .payload = bytes_of(100'000)}))};
  for (const std::size_t size : {std::size_t{3}, std::size_t{70'000}, std::size_t{0},
                                 kPayloadBytesMax, std::size_t{1'025}}) {
    must(bench->edit({.queue = "work", .id = ref.id, .payload = bytes_of(size)}));
    EXPECT_TRUE(must(bench->get(ref, {.payload = true})).payload == bytes_of(size)) << size;
    EXPECT_EQ(breaches(bench), "") << size;
  }
}

TEST_P(BadInputTest, what_is_one_byte_too_long_is_refused) {
  try_each(GetParam(), [](Token token) -> std::vector<Case> {
    const std::string payload = bytes_of(kPayloadBytesMax + 1);
    return {
        {"enqueue payload", Code::invalid_argument,
         [=](auto& b) { return status_of(b->enqueue({.queue = "work", .payload = payload})); }},
        {"edit payload", Code::invalid_argument,
         [=](auto& b) { return b->edit({.queue = "work", .id = "ready", .payload = payload}); }},
        {"result", Code::invalid_argument,
         [=](auto& b) {
           return b->ack(
               {.queue = "work", .token = token, .result = bytes_of(kResultBytesMax + 1)});
         }},
        {"a child's payload", Code::invalid_argument,
         [=](auto& b) {
           return b->ack({.queue = "work",
                          .token = token,
                          .children = {{.queue = "work", .payload = payload}}});
         }},
    };
  });
}

TEST_P(BadInputTest, a_job_for_later_has_a_shorter_payload) {
  for (const std::size_t size : {kTemplateBytesMax, kTemplateBytesMax + 1}) {
    const Code code = size == kTemplateBytesMax ? Code::ok : Code::invalid_argument;
    const std::string payload = bytes_of(size);
    try_each(GetParam(), [=](Token) -> std::vector<Case> {
      return {{"on_success", code,
               [=](auto& b) {
                 const NewJob job{.queue = "work", .payload = payload};
                 return status_of(b->open_batch({.queue = "work", .on_success = job}));
               }},
              {"on_end", code,
               [=](auto& b) {
                 const NewJob job{.queue = "work", .payload = payload};
                 return status_of(b->open_batch({.queue = "work", .on_end = job}));
               }},
              {"schedule", code, [=](auto& b) {
                 return b->put_schedule(
                     {.queue = "work", .name = "s", .cron = "@daily", .job = {.payload = payload}});
               }}};
    });
  }
}

TEST_P(BadInputTest, the_longest_result_is_kept_whole) {
  const Scene fresh = scene(GetParam());
  const std::string result = bytes_of(kResultBytesMax);
  must(fresh.bench->ack({.queue = "work", .token = fresh.token, .result = result}));
  EXPECT_TRUE(must(fresh.bench->get({"work", "leased"})).result == result);
  EXPECT_EQ(breaches(fresh.bench), "");
}

TEST_P(BadInputTest, a_text_that_is_too_long_is_cut_at_the_end_of_a_character) {
  const std::string euro = "\xe2\x82\xac";
  for (const std::string& start : {std::string("x"), std::string("xy")}) {
    std::string longer = start;
    while (longer.size() <= kTextBytesMax) longer += euro;
    const std::size_t kept = start.size() + (kTextBytesMax - start.size()) / 3 * 3;
    const Scene fresh = scene(GetParam());
    must(status_of(
        fresh.bench->extend({.queue = "work", .token = fresh.token, .progress = longer})));
    EXPECT_EQ(must(fresh.bench->get({"work", "leased"})).progress, longer.substr(0, kept));
    must(fresh.bench->fail({.queue = "work", .token = fresh.token, .error = longer}));
    const Job job = must(fresh.bench->get({"work", "leased"}, {.history = true}));
    EXPECT_EQ(job.error, longer.substr(0, kept));
    ASSERT_EQ(job.history.size(), 1u);
    EXPECT_EQ(job.history[0].error, longer.substr(0, kept));
    EXPECT_EQ(breaches(fresh.bench), "");
  }
}

// -------------------------------------------------------------------------------- priority, policy

TEST_P(BadInputTest, a_label_must_be_one_of_the_queues_and_come_alone) {
  try_each(GetParam(), [](Token) -> std::vector<Case> {
    const auto enqueue = [](NewJob job) {
      return [job](const Bench& b) { return status_of(b->enqueue(job)); };
    };
    return {
        {"known", Code::ok, enqueue({.queue = "work", .label = "high"})},
        {"unknown", Code::invalid_argument, enqueue({.queue = "work", .label = "urgent"})},
        {"in another case", Code::invalid_argument, enqueue({.queue = "work", .label = "High"})},
        {"with a priority", Code::invalid_argument,
         enqueue({.queue = "work", .priority = 0, .label = "high"})},
        {"unknown in a queue that is not there", Code::invalid_argument,
         enqueue({.queue = "new", .label = "urgent"})}};
  });
}

TEST_P(BadInputTest, priorities_are_ordered_over_their_whole_range) {
  const Bench bench = open();
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t priority : {0, kHighest, -1, kLowest, 1, kHighest - 1, kLowest + 1}) {
    const std::string id = std::to_string(priority);
    must(status_of(bench->enqueue({.queue = "work", .id = id, .priority = priority})));
    must(status_of(
        bench->enqueue({.queue = "work", .id = id + "g", .group = id, .priority = priority})));
  }
  EXPECT_EQ(claim_all(bench, "work"),
            (std::vector<std::string>{"-2147483648", "-2147483648g", "-2147483647", "-2147483647g",
                                      "-1", "-1g", "0", "0g", "1", "1g", "2147483646",
                                      "2147483646g", "2147483647", "2147483647g"}));
}

TEST_P(BadInputTest, a_retry_policy_must_make_sense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::pair<RetryPolicy, Code> policies[] = {
      {{.attempts_max = 0}, Code::invalid_argument},
      {{.attempts_max = 1}, Code::ok},
      {{.attempts_max = kAttemptsMax}, Code::ok},
      {{.attempts_max = kAttemptsMax + 1}, Code::invalid_argument},
      {{.base = -1ms}, Code::invalid_argument},
      {{.base = 0ms}, Code::ok},
      {{.factor = 0.999}, Code::invalid_argument},
      {{.factor = 1}, Code::ok},
      {{.factor = kNan}, Code::invalid_argument},
      {{.factor = kInfinity}, Code::invalid_argument},
      {{.cap = -1ms}, Code::invalid_argument},
      {{.cap = kDelayMax}, Code::ok},
      {{.jitter = -0.001}, Code::invalid_argument},
      {{.jitter = 1}, Code::ok},
      {{.jitter = 1.001}, Code::invalid_argument},
      {{.jitter = kNan}, Code::invalid_argument},
  };
  std::size_t number = 0;
  for (const auto& [policy, code] : policies) {
    const std::string name = "policy " + std::to_string(number++);
    const Scene fresh = scene(GetParam());
    try_case(fresh.bench, {name + " of a job", code, [policy](auto& b) {
                             return status_of(b->enqueue({.queue = "work", .retry = policy}));
                           }});
    try_case(fresh.bench, {name + " of a queue", code,
                           [policy](auto& b) { return b->configure("work", {.retry = policy}); }});
  }
}

}  // namespace
}  // namespace sluice::queue
