// SPDX-License-Identifier: MIT
// The checker of histories is shown histories that it must accept, and some that it must not.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/queue/crash/history.h"
#include "tests/queue/crash/workload.h"

namespace sluice::test {
namespace {

using queue::Lane;

constexpr std::uint64_t kStepsMax = 100'000;
constexpr Micros kLease = 10'000;

struct Span {
  Micros begin = 0;
  Micros end = 0;
};

Op call(Verb verb, Span when, Code code = Code::ok) {
  return {.verb = verb, .begin = when.begin, .end = when.end, .code = code};
}

Op enqueue(Span when) {
  return call(Verb::enqueue, when);
}

// Served at the beginning of its time.
Op claim(Span when, std::uint64_t number, std::uint32_t attempt) {
  Op op = call(Verb::claim, when);
  op.number = "n";
  op.claim = number;
  op.attempts = attempt;
  op.span = kLease;
  op.until = when.begin + kLease;
  return op;
}

Op use(Verb verb, Span when, std::uint64_t number, Code code = Code::ok) {
  Op op = call(verb, when, code);
  op.number = "n";
  op.claim = number;
  if (verb == Verb::extend) op.span = kLease, op.until = when.begin + kLease;
  return op;
}

struct Found {
  Lane lane = Lane::done;
  std::uint64_t claims = 0;
  std::uint32_t attempts = 0;
  std::uint32_t lapses = 0;
};

Op look(Micros when, const Found& found) {
  Op op = call(Verb::look, {when, when});
  op.lane = static_cast<std::uint8_t>(found.lane);
  op.claim = found.claims;
  op.attempts = found.attempts;
  op.lapses = found.lapses;
  return op;
}

Op unanswered(Op op) {
  op.open = true;
  op.until = 0;
  return op;
}

Verdict verdict_on(const std::vector<Op>& ops, const JobRules& rules = {}) {
  return search_order(ops, rules, kStepsMax).verdict;
}

bool says(const std::vector<std::string>& violations, const std::string& text) {
  return std::ranges::any_of(violations, [&](const std::string& violation) {
    return violation.find(text) != std::string::npos;
  });
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

// ------------------------------------------------------------------------------- the other parts

TEST(HistoryCheck, tokens_that_repeat_or_fall_are_noticed) {
  EXPECT_TRUE(judge_tokens({claim({0, 10}, 1, 1), claim({20, 30}, 2, 2)}).empty());
  EXPECT_TRUE(says(judge_tokens({claim({0, 10}, 1, 1), claim({5, 30}, 1, 2)}), "twice"));
  EXPECT_TRUE(says(judge_tokens({claim({0, 10}, 2, 1), claim({20, 30}, 1, 2)}), "came after"));
  Op other = claim({20, 30}, 2, 1);
  other.number = "another";
  EXPECT_TRUE(says(judge_tokens({claim({0, 10}, 1, 1), other}), "more than one number"));
}

TEST(HistoryCheck, a_deadline_that_moved_with_the_wall_clock_is_noticed) {
  Op moved = claim({0, 10}, 1, 1);
  EXPECT_TRUE(judge_deadlines({moved}, 0).empty());
  moved.until += 3'600'000'000;
  EXPECT_EQ(judge_deadlines({moved}, 0).size(), 1u);
  moved.until -= 7'200'000'000;
  EXPECT_EQ(judge_deadlines({moved}, 0).size(), 1u);
}

TEST(HistoryCheck, a_total_that_does_not_add_up_is_noticed) {
  const Op gone = call(Verb::look, {900, 900}, Code::not_found);
  const Op done = look(900, {Lane::done, 1, 1, 0});
  EXPECT_TRUE(judge_total({enqueue({0, 10}), done}).empty());
  EXPECT_TRUE(says(judge_total({enqueue({0, 10}), gone}), "lost"));
  EXPECT_TRUE(says(judge_total({done}), "nobody enqueued"));
  EXPECT_TRUE(says(judge_total({enqueue({0, 10}), enqueue({20, 30}), done}), "twice"));
  EXPECT_TRUE(
      says(judge_total({enqueue({0, 10}), look(900, {Lane::ready, 0, 0, 0})}), "not finished"));
  std::vector<Op> two = {enqueue({0, 10}), use(Verb::ack, {20, 30}, 1), use(Verb::ack, {40, 50}, 2),
                         done};
  EXPECT_TRUE(says(judge_total(two), "2 completions"));
  two.push_back(call(Verb::requeue, {34, 36}));
  EXPECT_TRUE(judge_total(two).empty());
}

TEST(HistoryCheck, a_hold_lasts_while_nobody_may_have_ended_it) {
  const auto only = [](const std::vector<Op>& ops) {
    const std::vector<Hold> holds = find_holds(ops, 0);
    EXPECT_EQ(holds.size(), 1u);
    return std::pair(holds.at(0).begin, holds.at(0).end);
  };
  const Op claimed = claim({0, 10}, 1, 1);
  EXPECT_EQ(only({claimed}), std::pair(Micros{10}, kLease));
  EXPECT_EQ(only({claimed, use(Verb::ack, {50, 60}, 1)}), std::pair(Micros{10}, Micros{50}));
  EXPECT_EQ(only({claimed, use(Verb::ack, {50, 60}, 1, Code::lease_lost)}),
            std::pair(Micros{10}, kLease));
  EXPECT_EQ(only({claimed, unanswered(use(Verb::fail, {50, 60}, 1))}),
            std::pair(Micros{10}, Micros{50}));
  EXPECT_EQ(only({claimed, call(Verb::cancel, {70, 80})}), std::pair(Micros{10}, Micros{70}));
  EXPECT_EQ(only({claimed, use(Verb::extend, {100, 110}, 1)}),
            std::pair(Micros{10}, Micros{100} + kLease));
}

TEST(HistoryCheck, overlaps_are_counted_and_touching_is_none) {
  EXPECT_EQ(count_overlap({}), 0u);
  EXPECT_EQ(count_overlap({{0, 10}, {10, 20}}), 1u);
  EXPECT_EQ(count_overlap({{0, 10}, {9, 20}, {5, 12}, {30, 40}}), 3u);
}

// --------------------------------------------------------------------------- from notes to verdict

// A few processes' notes, made by hand. Store time is kAhead ms ahead.
class Story {
 public:
  static constexpr Micros kAhead = 1'000'000;

  Story() {
    const Note note{.verb = Verb::time, .call = 1, .stamp_us = 0};
    log_.notes.push_back(note);
    log_.notes.push_back(answer(note, 0));
    log_.notes.back().store_us = kAhead;
  }

  void enqueue(const std::string& id, Micros when) {
    make({.verb = Verb::enqueue, .id = id}, when);
  }

  void claim(const std::string& id, std::uint64_t number, Micros when) {
    Note note{.verb = Verb::claim, .thread = 0, .call = ++calls_, .queue = 'h'};
    note.span_ms = 10;
    note.stamp_us = when;
    log_.notes.push_back(note);
    Note lease = answer(note, when + 10);
    lease.id = id;
    lease.token = token(id, number);
    lease.attempts = static_cast<std::uint32_t>(number);
    lease.until_ms = (when + kAhead) / 1'000 + 10;
    log_.notes.push_back(lease);
    log_.notes.push_back(answer(note, when + 10));
  }

  void ack(const std::string& id, std::uint64_t number, Micros when) {
    make({.verb = Verb::ack, .id = id, .token = token(id, number)}, when);
  }

  void find(const std::string& id, Lane lane, std::uint64_t claims) {
    found_[{'h', id}] = {.queue = 'h',
                         .id = id,
                         .number = token(id, 0).substr(0, 32),
                         .lane = lane,
                         .claims = claims,
                         .attempts = static_cast<std::uint32_t>(claims)};
  }

  Judgement judge() const { return judge_history(make_history({log_}, found_, 1'000'000)); }

  // Not one whose ack has children.
  static std::string token(const std::string& id, std::uint64_t number) {
    for (std::size_t salt = 0;; ++salt) {
      const std::string hash = std::to_string(std::hash<std::string>()(id + std::to_string(salt)));
      std::string token(48, '0');
      token.replace(0, hash.size(), hash);
      bool plain = true;
      for (char digit = '0'; digit < '4'; ++digit) {
        token.back() = digit;
        plain = plain && children_of(token).empty();
      }
      if (!plain) continue;
      token.back() = static_cast<char>('0' + number);
      return token;
    }
  }

 private:
  static Note answer(Note note, Micros when) {
    note.answer = true;
    note.stamp_us = when;
    return note;
  }

  void make(Note note, Micros when) {
    note.call = ++calls_;
    note.queue = 'h';
    note.stamp_us = when;
    log_.notes.push_back(note);
    log_.notes.push_back(answer(note, when + 10));
  }

  std::uint64_t calls_ = 1;
  ClientLog log_;
  Sight found_;
};

// Ids whose jobs have no delay and the group `group`.
std::vector<std::string> ids_of_group(const std::string& group, std::size_t count) {
  std::vector<std::string> ids;
  for (int i = 0; ids.size() < count; ++i) {
    const std::string id = "job" + std::to_string(i);
    const queue::NewJob job = job_of('h', id);
    if (job.group == group && job.delay == Duration(0)) ids.push_back(id);
  }
  return ids;
}

TEST(HistoryCheck, a_good_story_is_accepted) {
  const std::string id = ids_of_group("g2", 1)[0];
  Story story;
  story.enqueue(id, 100'000);
  story.claim(id, 1, 200'000);
  story.ack(id, 1, 201'000);
  story.find(id, Lane::done, 1);
  const Judgement judgement = story.judge();
  EXPECT_TRUE(judgement.violations.empty()) << judgement.violations[0];
  EXPECT_EQ(judgement.undecided, 0u);
}

TEST(HistoryCheck, a_limit_that_is_exceeded_is_noticed) {
  const std::size_t limit = limit_of('h', "g2").value();
  Story story;
  for (const std::string& id : ids_of_group("g2", limit + 1)) {
    story.enqueue(id, 100'000);
    story.claim(id, 1, 200'000);
    story.ack(id, 1, 201'000);
    story.find(id, Lane::done, 1);
  }
  EXPECT_TRUE(says(story.judge().violations, "3 were active at once, the limit is 2"));
}

TEST(HistoryCheck, a_double_claim_is_noticed) {
  const std::string id = ids_of_group("", 1)[0];
  Story story;
  story.enqueue(id, 100'000);
  story.claim(id, 1, 200'000);
  story.claim(id, 2, 203'000);
  story.ack(id, 2, 204'000);
  story.find(id, Lane::done, 2);
  EXPECT_TRUE(says(story.judge().violations, "two workers had it at the same time"));
}

TEST(HistoryCheck, a_lost_job_is_noticed) {
  const std::string id = ids_of_group("", 1)[0];
  Story story;
  story.enqueue(id, 100'000);
  EXPECT_TRUE(says(story.judge().violations, "it is lost"));
}

}  // namespace
}  // namespace sluice::test
