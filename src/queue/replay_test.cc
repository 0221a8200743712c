// SPDX-License-Identifier: MIT
// Operation ids: the same call again answers the same and changes nothing; another call under the
// same id is refused.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

/// Two tokens of leased jobs ("leased-1", "leased-2"), to make two requests that differ.
struct Tokens {
  Token first = {};
  Token second = {};
};

/// A verb that takes an operation id. `call` answers with everything it was told, as text; `other`
/// asks for the same with another request, which would be let through on its own.
struct Verb {
  const char* name;
  std::function<std::string(const Bench&, const Tokens&, const std::string& operation, bool other)>
      call;
};

std::string text_of(const Status& status) {
  return code_name(status.code());
}
std::string text_of(const Result<std::string>& id) {
  return id ? *id : text_of(id.error());
}
std::string text_of(const Result<WallTime>& time) {
  return time ? std::to_string(time->time_since_epoch().count()) : text_of(time.error());
}
std::string text_of(const Result<std::vector<Lease>>& leases) {
  if (!leases) return text_of(leases.error());
  std::string text;
  for (const Lease& lease : *leases)
    text += lease.queue + " " + lease.id + " " + lease.group + " " + lease.payload + " " +
            lease.token.to_string() + " " + std::to_string(lease.attempt) + " " +
            text_of(Result<WallTime>(lease.deadline)) + "\n";
  return text;
}
template <class T>
std::string text_of(const std::vector<T>& results) {
  std::string text;
  for (const T& result : results) text += text_of(result) + "\n";
  return text;
}

Tokens arrange(const Bench& bench) {
  must(bench->configure("work", {.lease = 30min, .done_retention = 1h, .dead_retention = 1h}));
  Tokens tokens;
  must(status_of(bench->enqueue({.queue = "work", .id = "leased-1"})));
  tokens.first = must_claim(bench, "work", 10min).token;
  must(status_of(bench->enqueue({.queue = "work", .id = "leased-2"})));
  tokens.second = must_claim(bench, "work", 10min).token;
  for (const char* number : {"1", "2"}) {
    const auto id = [&](const char* lane) { return std::string(lane) + "-" + number; };
    must(status_of(bench->enqueue({.queue = "work", .id = id("ready"), .payload = "payload"})));
    must(status_of(bench->enqueue({.queue = "work", .id = id("held"), .hold = true})));
    must(status_of(bench->enqueue({.queue = "work", .id = id("cancelled")})));
    must(bench->cancel({"work", id("cancelled")}));
    must(status_of(bench->open_batch({.queue = "work", .id = id("batch")})));
    must(status_of(bench->enqueue({.queue = "work",
                                   .id = id("holder"),
                                   .hold = true,
                                   .unique = Unique{.key = id("key")},
                                   .batch = id("batch")})));
  }
  return tokens;
}

const Token& pick(const Tokens& tokens, bool other) {
  return other ? tokens.second : tokens.first;
}

JobRef pick(const std::string& lane, bool other) {
  return {"work", lane + (other ? "-2" : "-1")};
}

std::vector<Verb> worker_verbs() {
  return {
      {"enqueue",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(
             b->enqueue({.queue = "work", .payload = other ? "b" : "a"}, {.operation = op}));
       }},
      {"claim",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(
             b->claim({.queues = {"work"}, .jobs_max = other ? 1u : 2u, .operation = op}));
       }},
      {"extend",
       [](auto& b, auto& tokens, auto& op, bool other) {
         return text_of(b->extend({.queue = "work", .token = pick(tokens, other), .lease = 20min},
                                  {.operation = op}));
       }},
      {"ack",
       [](auto& b, auto& tokens, auto& op, bool other) {
         return text_of(b->ack({.queue = "work",
                                .token = pick(tokens, other),
                                .result = "result",
                                .children = {{.queue = "children"}}},
                               {.operation = op}));
       }},
      {"fail",
       [](auto& b, auto& tokens, auto& op, bool other) {
         return text_of(
             b->fail({.queue = "work", .token = pick(tokens, other)}, {.operation = op}));
       }},
      {"release",
       [](auto& b, auto& tokens, auto& op, bool other) {
         return text_of(
             b->release({.queue = "work", .token = pick(tokens, other)}, {.operation = op}));
       }},
  };
}

std::vector<Verb> operator_verbs() {
  return {
      {"cancel",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->cancel(pick("ready", other), {.operation = op}));
       }},
      {"requeue",
       [](auto& b, auto&, auto& op, bool other) {
         const JobRef ref = pick("cancelled", other);
         return text_of(b->requeue({.queue = ref.queue, .id = ref.id}, {.operation = op}));
       }},
      {"edit",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->edit({.queue = "work", .id = "ready-1", .priority = other ? 2 : 1},
                                {.operation = op}));
       }},
      {"hold",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->hold(pick("ready", other), {.operation = op}));
       }},
      {"unhold",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->unhold(pick("held", other), {.operation = op}));
       }},
      {"break_lease",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->break_lease(pick("leased", other), {.operation = op}));
       }},
      {"remove",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->remove(pick("cancelled", other), {.operation = op}));
       }},
  };
}

std::vector<Verb> flow_verbs() {
  const auto batch = [](bool other) { return BatchRef{"work", other ? "batch-2" : "batch-1"}; };
  return {
      {"enqueue what is there",
       [](auto& b, auto&, auto& op, bool other) {
         const Unique unique{.key = other ? "key-2" : "key-1", .policy = UniquePolicy::keep};
         return text_of(b->enqueue({.queue = "work", .unique = unique}, {.operation = op}));
       }},
      {"enqueue what waits",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->enqueue({.queue = "work", .after = {{.id = pick("ready", other).id}}},
                                   {.operation = op}));
       }},
      {"add_after",
       [](auto& b, auto&, auto& op, bool other) {
         return text_of(b->add_after(
             {.queue = "work", .id = "held-2", .after = {{.id = pick("ready", other).id}}},
             {.operation = op}));
       }},
      {"open_batch",
       [](auto& b, auto&, auto& op, bool other) {
         const NewJob end{.queue = "work", .payload = other ? "b" : "a"};
         return text_of(b->open_batch({.queue = "work", .on_end = end}, {.operation = op}));
       }},
      {"seal_batch",
       [=](auto& b, auto&, auto& op, bool other) {
         return text_of(b->seal_batch(batch(other), {.operation = op}));
       }},
      {"cancel_batch",
       [=](auto& b, auto&, auto& op, bool other) {
         return text_of(b->cancel_batch(batch(other), {.operation = op}));
       }},
  };
}

/// Batches in which one item is refused: the answer is that of each item.
std::vector<Verb> batch_verbs() {
  return {
      {"enqueue batch",
       [](auto& b, auto&, auto& op, bool other) {
         const std::vector<NewJob> jobs{{.queue = "work", .payload = other ? "b" : "a"},
                                        {.queue = "work", .id = "ready-1"},
                                        {.queue = "other"}};
         return text_of(b->enqueue(jobs, {.operation = op}));
       }},
      {"ack batch",
       [](auto& b, auto& tokens, auto& op, bool other) {
         const std::vector<AckRequest> acks{{.queue = "work", .token = pick(tokens, other)},
                                            {.queue = "nowhere", .token = tokens.second}};
         return text_of(b->ack(acks, {.operation = op}));
       }},
      {"fail batch",
       [](auto& b, auto& tokens, auto& op, bool other) {
         const std::vector<FailRequest> fails{{.queue = "work", .token = pick(tokens, other)},
                                              {.queue = "nowhere", .token = tokens.second}};
         return text_of(b->fail(fails, {.operation = op}));
       }},
      {"release batch",
       [](auto& b, auto& tokens, auto& op, bool other) {
         const std::vector<ReleaseRequest> releases{{.queue = "work", .token = pick(tokens, other)},
                                                    {.queue = "nowhere", .token = tokens.second}};
         return text_of(b->release(releases, {.operation = op}));
       }},
      {"cancel batch",
       [](auto& b, auto&, auto& op, bool other) {
         const std::vector<JobRef> refs{pick("ready", other), {"work", "absent"}};
         return text_of(b->cancel(refs, {.operation = op}));
       }},
      {"requeue batch",
       [](auto& b, auto&, auto& op, bool other) {
         const std::vector<RequeueRequest> requests{
             {.queue = "work", .id = pick("cancelled", other).id},
             {.queue = "work", .id = "absent"}};
         return text_of(b->requeue(requests, {.operation = op}));
       }},
      {"remove batch",
       [](auto& b, auto&, auto& op, bool other) {
         const std::vector<JobRef> refs{pick("cancelled", other), {"work", "absent"}};
         return text_of(b->remove(refs, {.operation = op}));
       }},
  };
}

std::vector<Verb> all_verbs() {
  std::vector<Verb> verbs = worker_verbs();
  for (const auto& more : {operator_verbs(), flow_verbs(), batch_verbs()})
    verbs.insert(verbs.end(), more.begin(), more.end());
  return verbs;
}

// Whether every line of an answer is invalid_argument.
bool is_refused(const std::string& answer) {
  const std::string refusal = code_name(Code::invalid_argument);
  std::size_t at = 0;
  while (at < answer.size() && answer.compare(at, refusal.size(), refusal) == 0) {
    at += refusal.size();
    if (at < answer.size() && answer[at] == '\n') ++at;
  }
  return !answer.empty() && at == answer.size();
}

class ReplayTest : public OnEngines {};

TEST_P(ReplayTest, the_same_call_again_answers_the_same_and_changes_nothing) {
  for (const Verb& verb : all_verbs()) {
    SCOPED_TRACE(verb.name);
    const Bench bench = open();
    const Tokens tokens = arrange(bench);
    const Dump before = dump(bench);
    const std::string answer = verb.call(bench, tokens, "op", false);
    EXPECT_FALSE(is_refused(answer)) << answer;
    const Dump after = dump(bench);
    EXPECT_NE(after, before);
    EXPECT_EQ(verb.call(bench, tokens, "op", false), answer);
    bench.advance(5min);
    EXPECT_EQ(verb.call(bench, tokens, "op", false), answer);
    EXPECT_EQ(dump(bench), after);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(ReplayTest, another_request_under_the_same_id_is_refused) {
  for (const Verb& verb : all_verbs()) {
    SCOPED_TRACE(verb.name);
    const Bench bench = open();
    const Tokens tokens = arrange(bench);
    verb.call(bench, tokens, "op", false);
    const Dump after = dump(bench);
    const std::string answer = verb.call(bench, tokens, "op", true);
    EXPECT_TRUE(is_refused(answer)) << answer;
    EXPECT_EQ(dump(bench), after);
    EXPECT_FALSE(is_refused(verb.call(bench, tokens, "another op", true)));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(ReplayTest, another_verb_under_the_same_id_is_refused) {
  for (const Verb& first : all_verbs())
    for (const Verb& second : all_verbs()) {
      if (&first == &second || std::string(first.name) == second.name) continue;
      if (GetParam() != EngineKind::memory_serial && std::string(first.name) != "cancel") continue;
      SCOPED_TRACE(std::string(first.name) + ", then " + second.name);
      const Bench bench = open();
      const Tokens tokens = arrange(bench);
      first.call(bench, tokens, "op", false);
      const Dump after = dump(bench);
      const std::string answer = second.call(bench, tokens, "op", false);
      EXPECT_TRUE(is_refused(answer)) << answer;
      EXPECT_EQ(dump(bench), after);
    }
}

TEST_P(ReplayTest, an_operation_id_belongs_to_one_queue) {
  const Bench bench = open();
  const std::string a = must(bench->enqueue({.queue = "a"}, {.operation = "op"}));
  const std::string b = must(bench->enqueue({.queue = "b"}, {.operation = "op"}));
  EXPECT_EQ(must(bench->enqueue({.queue = "a"}, {.operation = "op"})), a);
  EXPECT_EQ(must(bench->enqueue({.queue = "b"}, {.operation = "op"})), b);
  EXPECT_EQ(must(bench->count("a")).total() + must(bench->count("b")).total(), 2u);
}

TEST_P(ReplayTest, a_call_that_was_refused_may_be_tried_again_under_its_id) {
  const Bench bench = open();
  arrange(bench);
  const Dump before = dump(bench);
  EXPECT_EQ(bench->hold({"work", "late"}, {.operation = "op"}).code(), Code::not_found);
  EXPECT_EQ(bench->ack({.queue = "work", .token = {}}, {.operation = "op"}).code(),
            Code::lease_lost);
  EXPECT_EQ(dump(bench), before);
  must(status_of(bench->enqueue({.queue = "work", .id = "late"})));
  must(bench->hold({"work", "late"}, {.operation = "op"}));
  EXPECT_EQ(lane_of(bench, {"work", "late"}), "held");
}

TEST_P(ReplayTest, an_enqueue_that_kept_another_job_answers_its_id_also_when_that_is_gone) {
  const Bench bench = open();
  const NewJob job{.queue = "q", .unique = Unique{.key = "k", .policy = UniquePolicy::keep}};
  must(bench->enqueue({.queue = "q", .id = "first", .unique = Unique{.key = "k"}}));
  EXPECT_EQ(must(bench->enqueue(job, {.operation = "op"})), "first");
  must(bench->cancel({"q", "first"}));
  EXPECT_EQ(must(bench->enqueue(job, {.operation = "op"})), "first");
  EXPECT_EQ(must(bench->count("q")).total(), 0u);
  EXPECT_NE(must(bench->enqueue(job, {.operation = "another op"})), "first");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ReplayTest, every_part_of_a_new_job_tells_one_request_from_another) {
  const Bench bench = open();
  arrange(bench);
  NewJob job{.queue = "work",
             .unique = Unique{.key = "new"},
             .after = {{.id = "ready-1"}},
             .batch = "batch-1"};
  const std::string id = must(bench->enqueue(job, {.operation = "op"}));
  EXPECT_EQ(must(bench->enqueue(job, {.operation = "op"})), id);
  const std::function<void(NewJob&)> changes[] = {
      [](auto& j) { j.unique.reset(); },
      [](auto& j) { j.unique->key = "other"; },
      [](auto& j) { j.unique->window = 1ms; },
      [](auto& j) { j.unique->policy = UniquePolicy::keep; },
      [](auto& j) { j.unique->lanes.pop_back(); },
      [](auto& j) { j.after.clear(); },
      [](auto& j) { j.after[0].id = "ready-2"; },
      [](auto& j) { j.after[0].queue = "work"; },
      [](auto& j) { j.after[0].policy = AfterPolicy::end; },
      [](auto& j) { j.after.push_back({.id = "ready-2"}); },
      [](auto& j) { j.batch.clear(); },
      [](auto& j) { j.batch = "batch-2"; }};
  const Dump before = dump(bench);
  for (const auto& change : changes) {
    NewJob other = job;
    change(other);
    EXPECT_EQ(status_of(bench->enqueue(other, {.operation = "op"})).code(), Code::invalid_argument)
        << &change - changes;
  }
  EXPECT_EQ(dump(bench), before);
}

TEST_P(ReplayTest, a_claim_again_gives_the_leases_that_are_still_held) {
  const Bench bench = open();
  for (const char* id : {"a", "b", "c"})
    must(status_of(bench->enqueue({.queue = "work", .id = id, .payload = "payload"})));
  const ClaimRequest request{
      .queues = {"work"}, .jobs_max = 2, .lease = 10min, .worker = "w", .operation = "op"};
  const auto first = must(bench->claim(request));
  ASSERT_EQ(first.size(), 2u);
  must(bench->ack({.queue = "work", .token = first[0].token}));
  const auto second = must(bench->claim(request));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].id, "b");
  EXPECT_EQ(second[0].token, first[1].token);
  EXPECT_EQ(second[0].payload, "payload");
  bench.advance(10min);
  EXPECT_TRUE(must(bench->claim(request)).empty());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ReplayTest, an_operation_is_remembered_for_an_hour_and_forgotten_after_two) {
  for (const Duration offset : {0min, 1min, 30min, 59min}) {
    const Bench bench = open();
    bench.advance(offset);
    const std::string id = must(bench->enqueue({.queue = "work"}, {.operation = "op"}));
    bench.advance(kOperationWindow - 1ms);
    must(status_of(bench->sweep()));
    EXPECT_EQ(must(bench->enqueue({.queue = "work"}, {.operation = "op"})), id);
    bench.advance(kOperationWindow + 1ms);
    must(status_of(bench->sweep()));
    EXPECT_NE(must(bench->enqueue({.queue = "work"}, {.operation = "op"})), id);
    EXPECT_EQ(must(bench->count("work")).ready, 2u);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(ReplayTest, an_operation_outlives_the_process_that_made_it) {
  Bench bench = open();
  const std::string id = must(bench->enqueue({.queue = "work"}, {.operation = "op"}));
  bench.queues.reset();
  bench.queues = must(Queues::open(bench.store(), {.random = bench.random.get()}));
  EXPECT_EQ(must(bench->enqueue({.queue = "work"}, {.operation = "op"})), id);
  EXPECT_EQ(must(bench->count("work")).ready, 1u);
}

INSTANTIATE_ON_ENGINES(ReplayTest);

}  // namespace
}  // namespace sluice::queue
