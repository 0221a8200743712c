// SPDX-License-Identifier: MIT
// The checker of histories is shown histories that it must accept, and some that it must not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/queue/crash/history_testing.h"
#include "tests/queue/crash/workload.h"

namespace sluice::test {
namespace {

using queue::Lane;

bool says(const std::vector<std::string>& violations, const std::string& text) {
  return std::ranges::any_of(violations, [&](const std::string& violation) {
    return violation.find(text) != std::string::npos;
  });
}

// --------------------------------------------------------------------------------- its parts

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
