// SPDX-License-Identifier: MIT
// The judge of the crash loop is shown stories that it must accept, and some that it must not.
#include "tests/queue/crash/oracle.h"

#include <gtest/gtest.h>

#include "tests/queue/crash/workload.h"

namespace sluice::test {
namespace {

using queue::Lane;

constexpr char kKeeps = 'k';
constexpr char kForgets = 'g';

// A token with two children, or without any.
std::string token(std::uint64_t claim, bool has_children = false) {
  for (std::uint64_t number = 1;; ++number) {
    std::string text = std::to_string(number);
    text = std::string(32 - text.size(), '0') + text;
    bool fits = true;
    for (std::uint64_t i = 1; i <= 3; ++i)
      fits = fits && children_of(text + std::string(15, '0') + std::to_string(i)).empty() ==
                         !(has_children && i == claim);
    if (fits) return text + std::string(15, '0') + std::to_string(claim);
  }
}

// The notes of one process, and what it left.
class Story {
 public:
  explicit Story(char queue = kKeeps) : queue_(queue) {}

  struct Call {
    Verb verb = Verb::enqueue;
    std::string token = {};
    Code code = Code::ok;
    bool answered = true;
    bool dead = false;
    std::string operation = {};
    std::string id = "job";
  };
  void call(const Call& call) {
    const Note note{.verb = call.verb,
                    .call = ++calls_,
                    .queue = queue_,
                    .id = call.verb == Verb::claim ? "" : call.id,
                    .token = call.verb == Verb::claim ? "" : call.token,
                    .operation = call.operation,
                    .dead = call.dead};
    notes_.push_back(note);
    if (!call.answered) return;
    Note answer = note;
    answer.answer = true;
    answer.code = call.code;
    answer.id = call.id;
    answer.token = call.token;
    notes_.push_back(answer);
    if (call.verb != Verb::claim) return;
    answer.id.clear();
    answer.token.clear();
    notes_.push_back(answer);
  }

  struct Left {
    Lane lane = Lane::ready;
    std::uint64_t claims = 0;
    std::string result = {};
    std::string id = "job";
    std::string number = token(1).substr(0, 32);
    queue::DeathReason reason = queue::DeathReason::none;
  };
  void leave(const Left& left) {
    left_[{queue_, left.id}] = {.queue = queue_,
                                .id = left.id,
                                .number = left.number,
                                .lane = left.lane,
                                .reason = left.reason,
                                .claims = left.claims,
                                .result = left.result};
  }

  std::vector<Breach> judge(Oracle& oracle) {
    std::vector<Breach> breaches = oracle.judge(notes_, left_);
    notes_.clear();
    left_.clear();
    return breaches;
  }
  std::vector<Breach> judge() {
    Oracle oracle;
    return judge(oracle);
  }

 private:
  char queue_;
  std::uint64_t calls_ = 0;
  std::vector<Note> notes_;
  Sight left_;
};

void expect_breach(const std::vector<Breach>& breaches, Breach::Kind kind,
                   const std::string& text) {
  for (const Breach& breach : breaches)
    if (breach.kind == kind && breach.text.find(text) != std::string::npos) return;
  ADD_FAILURE() << "nobody noticed: " << text
                << (breaches.empty() ? "" : ", only " + breaches[0].text);
}

void expect_clean(const std::vector<Breach>& breaches) {
  for (const Breach& breach : breaches) ADD_FAILURE() << breach.text;
}

using enum Breach::Kind;

TEST(CrashOracle, what_was_acknowledged_is_there) {
  Story story;
  story.call({.verb = Verb::enqueue});
  story.leave({});
  Oracle oracle;
  expect_clean(story.judge(oracle));
  EXPECT_EQ(oracle.jobs_acked(), 1u);
  story.leave({});
  expect_clean(story.judge(oracle));
  expect_breach(story.judge(oracle), lost, "not there");
}

TEST(CrashOracle, a_lost_job_is_noticed_at_once) {
  for (const char queue : {kKeeps, kForgets}) {
    Story story(queue);
    story.call({.verb = Verb::enqueue});
    expect_breach(story.judge(), lost, "not there");
  }
}

TEST(CrashOracle, what_was_in_flight_may_be_there_or_not) {
  for (const bool there : {true, false}) {
    Story story;
    story.call({.verb = Verb::enqueue, .answered = false, .operation = "op"});
    if (there) story.leave({});
    Oracle oracle;
    expect_clean(story.judge(oracle));
    ASSERT_EQ(oracle.pending().size(), 1u);
    EXPECT_EQ(oracle.pending()[0].operation, "op");
    // The same call again makes sure of it.
    story.call({.verb = Verb::enqueue, .operation = "op"});
    story.leave({});
    expect_clean(story.judge(oracle));
    EXPECT_TRUE(oracle.pending().empty());
  }
}

TEST(CrashOracle, a_job_that_nobody_enqueued_is_noticed) {
  Story story;
  story.leave({});
  expect_breach(story.judge(), doubled, "nobody enqueued it");
  story.call({.verb = Verb::enqueue, .code = Code::limit_exceeded});
  expect_breach(story.judge(), other, "answered limit_exceeded");
}

TEST(CrashOracle, a_job_that_is_enqueued_twice_is_noticed) {
  Story story;
  story.call({.verb = Verb::enqueue, .operation = "op"});
  story.call({.verb = Verb::enqueue});
  story.leave({});
  expect_breach(story.judge(), doubled, "enqueued twice");
}

TEST(CrashOracle, an_accepted_ack_that_is_forgotten_is_noticed) {
  for (const char queue : {kKeeps, kForgets}) {
    Story story(queue);
    story.call({.verb = Verb::enqueue});
    story.call({.verb = Verb::claim, .token = token(1)});
    story.call({.verb = Verb::ack, .token = token(1)});
    story.leave({.lane = Lane::leased, .claims = 1});
    expect_breach(story.judge(), lost, "ack was accepted, but the job is leased");
  }
}

TEST(CrashOracle, an_unanswered_ack_leaves_either) {
  for (const Lane lane : {Lane::leased, Lane::done}) {
    Story story;
    story.call({.verb = Verb::enqueue});
    story.call({.verb = Verb::claim, .token = token(1)});
    story.call({.verb = Verb::ack, .token = token(1), .answered = false, .operation = "op"});
    story.leave({.lane = lane, .claims = 1, .result = lane == Lane::done ? token(1) : ""});
    Oracle oracle;
    expect_clean(story.judge(oracle));
    EXPECT_EQ(oracle.completions(), lane == Lane::done ? 1u : 0u);
    // Only if it had not been accepted may the same call be refused.
    story.call({.verb = Verb::ack, .token = token(1), .code = Code::lease_lost, .operation = "op"});
    story.leave({.lane = lane, .claims = 1, .result = lane == Lane::done ? token(1) : ""});
    const auto breaches = story.judge(oracle);
    if (lane == Lane::done)
      expect_breach(breaches, lost, "a repeated ack was refused");
    else
      expect_clean(breaches);
  }
}

TEST(CrashOracle, a_second_completion_is_noticed) {
  Story story;
  story.call({.verb = Verb::enqueue});
  story.call({.verb = Verb::claim, .token = token(1)});
  story.call({.verb = Verb::claim, .token = token(2)});
  story.call({.verb = Verb::ack, .token = token(1)});
  story.call({.verb = Verb::ack, .token = token(2)});
  story.leave({.lane = Lane::done, .claims = 2, .result = token(2)});
  expect_breach(story.judge(), doubled, "2 completions");
}

TEST(CrashOracle, a_stale_token_that_is_accepted_is_noticed) {
  for (const Verb verb : {Verb::extend, Verb::ack, Verb::fail, Verb::release}) {
    Story story;
    story.call({.verb = Verb::enqueue});
    story.call({.verb = Verb::claim, .token = token(1)});
    story.call({.verb = Verb::claim, .token = token(2)});
    story.call({.verb = verb, .token = token(1)});
    story.leave({.lane = verb == Verb::ack ? Lane::done : Lane::leased,
                 .claims = 2,
                 .result = verb == Verb::ack ? token(1) : ""});
    expect_breach(story.judge(), doubled, "under a stale token");
  }
}

TEST(CrashOracle, a_claim_after_the_end_is_noticed_unless_it_was_requeued) {
  for (const bool requeued : {true, false}) {
    Story story;
    story.call({.verb = Verb::enqueue});
    story.call({.verb = Verb::claim, .token = token(1)});
    story.call({.verb = Verb::ack, .token = token(1)});
    if (requeued) story.call({.verb = Verb::requeue});
    story.call({.verb = Verb::claim, .token = token(2)});
    story.leave({.lane = Lane::leased, .claims = 2});
    const auto breaches = story.judge();
    if (requeued)
      expect_clean(breaches);
    else
      expect_breach(breaches, doubled, "claimed after ack");
  }
}

TEST(CrashOracle, a_token_that_comes_twice_is_noticed) {
  Story story;
  story.call({.verb = Verb::enqueue});
  story.call({.verb = Verb::claim, .token = token(1)});
  story.call({.verb = Verb::claim, .token = token(1)});
  story.leave({.lane = Lane::leased, .claims = 1});
  expect_breach(story.judge(), doubled, "handed out twice");
}

TEST(CrashOracle, a_repeated_claim_gets_again_only_what_is_still_held) {
  for (const Lane lane : {Lane::leased, Lane::ready}) {
    Story story;
    story.call({.verb = Verb::enqueue});
    story.call({.verb = Verb::claim, .answered = false, .operation = "op"});
    story.leave({.lane = lane, .claims = 1});
    Oracle oracle;
    expect_clean(story.judge(oracle));
    ASSERT_EQ(oracle.pending().size(), 1u);
    story.call({.verb = Verb::claim, .token = token(1), .operation = "op"});
    story.leave({.lane = lane, .claims = 1});
    const auto breaches = story.judge(oracle);
    if (lane == Lane::leased)
      expect_clean(breaches);
    else
      expect_breach(breaches, doubled, "an old token");
  }
}

TEST(CrashOracle, a_claim_that_is_forgotten_is_noticed) {
  Story story;
  story.call({.verb = Verb::enqueue});
  story.call({.verb = Verb::claim, .token = token(1)});
  story.leave({});
  expect_breach(story.judge(), lost, "a claim is not there");
}

TEST(CrashOracle, a_gone_job_that_comes_back_is_noticed) {
  Story story(kForgets);
  story.call({.verb = Verb::enqueue});
  story.call({.verb = Verb::claim, .token = token(1)});
  story.call({.verb = Verb::ack, .token = token(1), .answered = false});
  Oracle oracle;
  expect_clean(story.judge(oracle));
  expect_clean(story.judge(oracle));
  story.leave({.claims = 1});
  expect_breach(story.judge(oracle), doubled, "came back");
}

TEST(CrashOracle, half_a_batch_is_noticed) {
  Oracle oracle;
  std::vector<Note> notes;
  for (const std::string id : {"one", "two"})
    notes.push_back({.verb = Verb::enqueue, .call = 1, .queue = kKeeps, .id = id});
  const Seen one{.queue = kKeeps, .id = "one", .number = "1"};
  expect_breach(oracle.judge(notes, {{{kKeeps, "one"}, one}}), lost, "half of its batch");
}

TEST(CrashOracle, children_without_their_ack_are_noticed) {
  const std::string with_children = token(1, true);
  const std::string number = with_children.substr(0, 32);
  for (const bool acked : {true, false}) {
    Story story;
    story.call({.verb = Verb::enqueue});
    story.call({.verb = Verb::claim, .token = with_children});
    story.call({.verb = Verb::ack, .token = with_children, .answered = acked});
    story.leave({.lane = acked ? Lane::done : Lane::leased,
                 .claims = 1,
                 .result = acked ? with_children : "",
                 .number = number});
    if (!acked) story.leave({.id = children_of(with_children)[0], .number = "7"});
    const auto breaches = story.judge();
    if (acked)
      expect_breach(breaches, lost, "not there");
    else
      expect_breach(breaches, lost, "do not go together");
  }
}

TEST(CrashOracle, a_second_holder_of_a_unique_key_is_noticed) {
  const auto key_of = [](const std::string& id) { return job_of(kKeeps, id).unique.value().key; };
  std::string second = "one-1";
  for (int i = 2; key_of(second) != key_of("one-0"); ++i) second = "one-" + std::to_string(i);
  for (const Lane lane : {Lane::done, Lane::ready}) {
    Story story;
    story.call({.verb = Verb::enqueue, .id = "one-0"});
    story.call({.verb = Verb::enqueue, .id = second});
    story.call({.verb = Verb::claim, .token = token(1), .id = "one-0"});
    story.call(
        {.verb = Verb::ack, .token = token(1), .answered = lane == Lane::done, .id = "one-0"});
    story.leave(
        {.lane = lane, .claims = 1, .result = lane == Lane::done ? token(1) : "", .id = "one-0"});
    story.leave({.id = second, .number = "7"});
    if (lane == Lane::done)
      expect_clean(story.judge());
    else
      expect_breach(story.judge(), doubled, "another job has its unique key");
  }
}

TEST(CrashOracle, a_key_that_is_taken_is_an_answer_only_for_a_unique_job) {
  for (const std::string id : {"one-0", "job"}) {
    Story story;
    story.call({.verb = Verb::enqueue, .code = Code::already_exists, .operation = "op", .id = id});
    const auto breaches = story.judge();
    if (id == "one-0")
      expect_clean(breaches);
    else
      expect_breach(breaches, other, "answered already_exists");
  }
}

TEST(CrashOracle, a_link_must_wait_and_must_not_wait_for_ever) {
  struct Case {
    Lane first;
    Lane second;
    const char* wrong;
  };
  const std::vector<Case> cases = {{Lane::ready, Lane::waiting, nullptr},
                                   {Lane::cancelled, Lane::ready, nullptr},
                                   {Lane::ready, Lane::ready, "runs before"},
                                   {Lane::ready, Lane::leased, "runs before"},
                                   {Lane::cancelled, Lane::waiting, "has ended"}};
  for (const Case& one : cases) {
    Story story;
    const std::string first = link_id("x", 0);
    const std::string second = link_id("x", 1);
    story.call({.verb = Verb::enqueue, .id = first});
    story.call({.verb = Verb::enqueue, .id = second});
    if (one.first == Lane::cancelled) story.call({.verb = Verb::cancel, .id = first});
    story.leave({.lane = one.first, .id = first});
    story.leave({.lane = one.second, .id = second, .number = "7"});
    const auto breaches = story.judge();
    if (one.wrong == nullptr)
      expect_clean(breaches);
    else
      expect_breach(breaches, one.first == Lane::ready ? other : lost, one.wrong);
  }
}

TEST(CrashOracle, a_death_for_no_reason_is_noticed) {
  Story story;
  story.call({.verb = Verb::enqueue});
  story.leave({.lane = Lane::dead, .reason = queue::DeathReason::refused});
  expect_breach(story.judge(), lost, "dead for no reason");
}

TEST(CrashOracle, a_drain_must_add_up) {
  Story story;
  story.call({.verb = Verb::enqueue});
  story.leave({});
  Oracle oracle;
  expect_clean(story.judge(oracle));
  const JobKey key{kKeeps, "job"};
  const Seen drained{.queue = kKeeps,
                     .id = "job",
                     .lane = Lane::done,
                     .claims = 1,
                     .result = std::string(kDrained)};
  expect_clean(oracle.judge_drain({key}, {{key, drained}}));
  expect_breach(oracle.judge_drain({key, key}, {{key, drained}}), doubled, "drained 2 times");
  expect_breach(oracle.judge_drain({}, {{key, drained}}), lost, "drained 0 times");
  expect_breach(oracle.judge_drain({}, {}), lost, "lost in the drain");
  const JobKey more{kKeeps, "more"};
  expect_breach(oracle.judge_drain({key}, {{key, drained}, {more, drained}}), doubled, "too many");
}

}  // namespace
}  // namespace sluice::test
