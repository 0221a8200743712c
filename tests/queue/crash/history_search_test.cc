// SPDX-License-Identifier: MIT
// The search for a possible order of calls is shown histories of one job that have one, and some
// that have not.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/queue/crash/history_testing.h"

namespace sluice::test {
namespace {

using queue::Lane;

constexpr std::uint64_t kStepsMax = 100'000;

Verdict verdict_on(const std::vector<Op>& ops, const JobRules& rules = {}) {
  return search_order(ops, rules, kStepsMax).verdict;
}

// ------------------------------------------------------------------------------ possible orders

TEST(HistorySearch, a_plain_life_is_possible) {
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::extend, {40, 50}, 1),
                        use(Verb::ack, {60, 70}, 1), look(90, {.claims = 1, .attempts = 1})}),
            Verdict::possible);
}

TEST(HistorySearch, a_retry_and_a_release_are_possible) {
  EXPECT_EQ(
      verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::fail, {40, 50}, 1),
                  claim({60, 70}, 2, 2), use(Verb::release, {80, 90}, 2), claim({100, 110}, 3, 2),
                  use(Verb::ack, {120, 130}, 3), use(Verb::ack, {140, 150}, 3, Code::lease_lost),
                  look(200, {.claims = 3, .attempts = 2})}),
      Verdict::possible);
}

TEST(HistorySearch, calls_that_overlap_may_be_served_in_either_order) {
  EXPECT_EQ(verdict_on({enqueue({50, 60}), claim({40, 70}, 1, 1), use(Verb::ack, {100, 200}, 1),
                        call(Verb::cancel, {90, 210}, Code::conflict)}),
            Verdict::possible);
  EXPECT_EQ(
      verdict_on({enqueue({50, 60}), claim({40, 70}, 1, 1),
                  use(Verb::ack, {100, 200}, 1, Code::lease_lost), call(Verb::cancel, {90, 210})}),
      Verdict::possible);
}

TEST(HistorySearch, a_lease_ends_at_its_deadline) {
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), claim({10'020, 10'050}, 2, 2),
                        use(Verb::ack, {10'030, 10'060}, 1, Code::lease_lost)}),
            Verdict::possible);
}

TEST(HistorySearch, the_last_lapse_and_the_last_attempt_are_deadly) {
  const std::vector<Op> lapses = {enqueue({0, 10}), claim({20, 30}, 1, 1),
                                  claim({20'000, 20'010}, 2, 2),
                                  look(40'000, {Lane::dead, 2, 2, 2})};
  EXPECT_EQ(verdict_on(lapses, {.lapses_max = 2}), Verdict::possible);
  EXPECT_EQ(verdict_on(lapses, {.attempts_max = 2}), Verdict::possible);
  EXPECT_EQ(verdict_on(lapses), Verdict::impossible);
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::fail, {40, 50}, 1),
                        look(60, {Lane::dead, 1, 1, 0}), call(Verb::requeue, {70, 80}),
                        claim({90, 95}, 2, 1)},
                       {.attempts_max = 1}),
            Verdict::possible);
}

TEST(HistorySearch, an_unanswered_call_happened_or_did_not) {
  const std::vector<Op> begun = {enqueue({0, 10}), claim({20, 30}, 1, 1),
                                 unanswered(use(Verb::ack, {40, 50}, 1))};
  auto done = begun;
  done.push_back(look(60, {Lane::done, 1, 1, 0}));
  EXPECT_EQ(verdict_on(done), Verdict::possible);
  auto not_done = begun;
  not_done.push_back(look(60, {Lane::leased, 1, 1, 0}));
  EXPECT_EQ(verdict_on(not_done), Verdict::possible);
}

TEST(HistorySearch, an_unanswered_claim_explains_a_missing_token) {
  std::vector<Op> ops = {enqueue({0, 10}), claim({50'000, 50'010}, 2, 2)};
  EXPECT_EQ(verdict_on(ops), Verdict::impossible);
  ops.push_back(unanswered(claim({20, 30}, 0, 0)));
  EXPECT_EQ(verdict_on(ops), Verdict::possible);
  // Its lease counts too: the next claim cannot come before the end of it.
  ops[1] = claim({5'000, 5'010}, 2, 2);
  EXPECT_EQ(verdict_on(ops), Verdict::impossible);
}

// ---------------------------------------------------------------------------- impossible orders

TEST(HistorySearch, a_claim_within_a_lease_is_noticed) {
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), claim({9'000, 9'010}, 2, 2)}),
            Verdict::impossible);
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1),
                        use(Verb::extend, {9'000, 9'010}, 1), claim({11'000, 11'010}, 2, 2)}),
            Verdict::impossible)
      << "the lease was extended";
}

TEST(HistorySearch, a_stale_ack_that_is_accepted_is_noticed) {
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), claim({10'030, 10'040}, 2, 2),
                        use(Verb::ack, {10'050, 10'060}, 1)}),
            Verdict::impossible);
  EXPECT_EQ(
      verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::ack, {10'050, 10'060}, 1)}),
      Verdict::impossible)
      << "nobody else has it, but its time is over";
}

TEST(HistorySearch, a_refusal_within_a_lease_is_noticed) {
  for (const Verb verb : {Verb::ack, Verb::extend, Verb::fail, Verb::release})
    EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1),
                          use(verb, {40, 50}, 1, Code::lease_lost)}),
              Verdict::impossible);
}

TEST(HistorySearch, a_second_completion_is_noticed) {
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::ack, {40, 50}, 1),
                        use(Verb::ack, {60, 70}, 1)}),
            Verdict::impossible);
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::ack, {40, 50}, 1),
                        claim({60, 70}, 2, 2)}),
            Verdict::impossible);
}

TEST(HistorySearch, a_lost_job_is_noticed) {
  EXPECT_EQ(verdict_on({enqueue({0, 10}), call(Verb::look, {90, 90}, Code::not_found)}),
            Verdict::impossible);
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::ack, {40, 50}, 1),
                        look(60, {Lane::ready, 1, 1, 0})}),
            Verdict::impossible);
}

TEST(HistorySearch, a_job_from_nowhere_is_noticed) {
  EXPECT_EQ(verdict_on({claim({20, 30}, 1, 1)}), Verdict::impossible);
  EXPECT_EQ(verdict_on({enqueue({50, 60}), claim({20, 30}, 1, 1)}), Verdict::impossible);
  EXPECT_EQ(verdict_on({enqueue({0, 10}), enqueue({20, 30})}), Verdict::impossible);
}

TEST(HistorySearch, a_claim_before_its_time_is_noticed) {
  Op late = enqueue({0, 10});
  late.span = 5'000;
  EXPECT_EQ(verdict_on({late, claim({3'000, 3'900}, 1, 1)}), Verdict::impossible);
  EXPECT_EQ(verdict_on({late, claim({3'000, 5'000}, 1, 1)}), Verdict::possible);
  Op fail = use(Verb::fail, {40, 50}, 1);
  fail.span = 5'000;
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), fail, claim({60, 70}, 2, 2)}),
            Verdict::impossible);
}

TEST(HistorySearch, a_lost_attempt_or_lapse_is_noticed) {
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), use(Verb::fail, {40, 50}, 1),
                        claim({60, 70}, 2, 1)}),
            Verdict::impossible);
  EXPECT_EQ(verdict_on({enqueue({0, 10}), claim({20, 30}, 1, 1), claim({10'030, 10'040}, 2, 2),
                        look(10'050, {Lane::leased, 2, 2, 0})}),
            Verdict::impossible);
}

TEST(HistorySearch, a_search_that_is_given_up_is_not_a_pass) {
  EXPECT_EQ(search_order({enqueue({0, 10}), claim({20, 30}, 1, 1)}, {}, 1).verdict,
            Verdict::undecided);
}

}  // namespace
}  // namespace sluice::test
