// SPDX-License-Identifier: MIT
// Bad input that is not one bad value: too many or too few of something, settings out of range,
// what does not exist, what exists already, batches.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

struct Case {
  std::string name;
  Code code;
  std::function<Status(const Bench&)> call;
};

// Each on a store of its own with one queue and one ready job.
void try_each(EngineKind engine, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Bench bench = open_bench(engine);
    must(status_of(bench->enqueue({.queue = "work", .id = "ready", .group = "g"})));
    const Dump before = dump(bench);
    const Status status = one.call(bench);
    EXPECT_EQ(code_name(status.code()), std::string(code_name(one.code))) << status.to_string();
    EXPECT_EQ(breaches(bench), "");
    if (status.ok()) continue;
    EXPECT_FALSE(status.message().empty());
    EXPECT_EQ(dump(bench), before);
  }
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back("name-" + std::to_string(i));
  return made;
}

class BadCallTest : public OnEngines {};

TEST_P(BadCallTest, a_claim_asks_for_some_jobs_of_some_queues) {
  const auto claim = [](ClaimRequest request) {
    return [request](const Bench& b) { return status_of(b->claim(request)); };
  };
  try_each(
      GetParam(),
      {{"no jobs", Code::invalid_argument, claim({.queues = {"work"}, .jobs_max = 0})},
       {"most jobs", Code::ok, claim({.queues = {"work"}, .jobs_max = kClaimJobsMax})},
       {"too many jobs", Code::invalid_argument,
        claim({.queues = {"work"}, .jobs_max = kClaimJobsMax + 1})},
       {"no queues", Code::invalid_argument, claim({})},
       {"most queues", Code::ok, claim({.queues = names(kClaimQueuesMax)})},
       {"too many queues", Code::invalid_argument, claim({.queues = names(kClaimQueuesMax + 1)})},
       {"a queue twice", Code::invalid_argument, claim({.queues = {"work", "a", "work"}})},
       {"most groups to skip", Code::ok,
        claim({.queues = {"work"}, .skip_groups = names(kSkipGroupsMax)})},
       {"too many groups to skip", Code::invalid_argument,
        claim({.queues = {"work"}, .skip_groups = names(kSkipGroupsMax + 1)})},
       {"a negative wait", Code::invalid_argument, claim({.queues = {"work"}, .wait = -1ms})}});
}

TEST_P(BadCallTest, the_settings_of_a_queue_have_limits) {
  const auto configure = [](QueueConfig config) {
    return [config](const Bench& b) { return b->configure("new", config); };
  };
  const auto labels = [](std::size_t count) {
    std::vector<Label> made;
    for (const std::string& name : names(count)) made.push_back({name, 1});
    return made;
  };
  const Code bad = Code::invalid_argument;
  try_each(GetParam(),
           {{"shards 0", bad, configure({.shards = 0})},
            {"shards 256", Code::ok, configure({.shards = kShardsMax})},
            {"shards 257", bad, configure({.shards = kShardsMax + 1})},
            {"active_max 0", Code::ok, configure({.active_max = 0})},
            {"active_max 10,000", Code::ok, configure({.active_max = kActiveMax})},
            {"active_max 10,001", bad, configure({.active_max = kActiveMax + 1})},
            {"group_max 0", Code::ok, configure({.group_max = 0})},
            {"group_max", Code::ok, configure({.group_max = UINT32_MAX})},
            {"backlog_max 0", Code::ok, configure({.backlog_max = 0})},
            {"rate of 0 jobs", bad, configure({.rate = Rate{.jobs = 0}})},
            {"rate per 0", bad, configure({.rate = Rate{.per = 0s}})},
            {"rate per less than 0", bad, configure({.rate = Rate{.per = -1s}})},
            {"burst 0", bad, configure({.rate = Rate{.burst = 0}})},
            {"a rate", Code::ok, configure({.rate = Rate{.jobs = 5, .per = 1min, .burst = 3}})},
            {"no labels", Code::ok, configure({.labels = {}})},
            {"32 labels", Code::ok, configure({.labels = labels(kLabelsMax)})},
            {"33 labels", bad, configure({.labels = labels(kLabelsMax + 1)})},
            {"a label twice", bad, configure({.labels = {{"high", 0}, {"high", 1}}})},
            {"lapses_max 0", bad, configure({.lapses_max = 0})},
            {"lapses_max 1", Code::ok, configure({.lapses_max = 1})},
            {"done_retention below 0", bad, configure({.done_retention = -1ms})},
            {"done_retention at most", Code::ok, configure({.done_retention = kDelayMax})},
            {"done_retention beyond", bad, configure({.done_retention = kDelayMax + 1ms})},
            {"dead_retention below 0", bad, configure({.dead_retention = -1ms})},
            {"dead_retention 0", Code::ok, configure({.dead_retention = 0ms})},
            {"dead_retention at most", Code::ok, configure({.dead_retention = kDelayMax})},
            {"dead_retention beyond", bad, configure({.dead_retention = kDelayMax + 1ms})},
            {"dead_retention for ever", Code::ok, configure({.dead_retention = Duration::max()})}});
}

TEST_P(BadCallTest, pages_have_at_least_one_entry_and_at_most_so_many) {
  const Code bad = Code::invalid_argument;
  const auto list = [](ListRequest request) {
    return [request](const Bench& b) { return status_of(b->list(request)); };
  };
  try_each(
      GetParam(),
      {{"list 0", bad, list({.queue = "work", .limit = 0})},
       {"list 1,000", Code::ok, list({.queue = "work", .limit = kPageMax})},
       {"list 1,001", bad, list({.queue = "work", .limit = kPageMax + 1})},
       {"list after nonsense", bad, list({.queue = "work", .after = "nonsense"})},
       {"list_queues 0", bad, [](auto& b) { return status_of(b->list_queues("", 0)); }},
       {"list_queues 1,000", Code::ok,
        [](auto& b) { return status_of(b->list_queues("", kPageMax)); }},
       {"list_queues 1,001", bad,
        [](auto& b) { return status_of(b->list_queues("", kPageMax + 1)); }},
       {"list_groups 0", bad, [](auto& b) { return status_of(b->list_groups("work", "", 0)); }},
       {"list_groups 1,001", bad,
        [](auto& b) { return status_of(b->list_groups("work", "", kPageMax + 1)); }},
       {"peek 0", bad, [](auto& b) { return status_of(b->peek("work", 0)); }},
       {"peek 1,000", Code::ok, [](auto& b) { return status_of(b->peek("work", kPageMax)); }},
       {"peek 1,001", bad, [](auto& b) { return status_of(b->peek("work", kPageMax + 1)); }},
       {"list_batches 0", bad, [](auto& b) { return status_of(b->list_batches("work", "", 0)); }},
       {"list_batches 1,000", Code::ok,
        [](auto& b) { return status_of(b->list_batches("work", "", kPageMax)); }},
       {"list_batches 1,001", bad,
        [](auto& b) { return status_of(b->list_batches("work", "", kPageMax + 1)); }},
       {"list_schedules 0", bad,
        [](auto& b) { return status_of(b->list_schedules("work", "", 0)); }},
       {"list_schedules 1,000", Code::ok,
        [](auto& b) { return status_of(b->list_schedules("work", "", kPageMax)); }},
       {"list_schedules 1,001", bad,
        [](auto& b) { return status_of(b->list_schedules("work", "", kPageMax + 1)); }},
       {"events 0", bad,
        [](auto& b) { return status_of(b->events({.queue = "work", .limit = 0})); }},
       {"events 1,000", Code::ok,
        [](auto& b) { return status_of(b->events({.queue = "work", .limit = kPageMax})); }},
       {"events 1,001", bad,
        [](auto& b) { return status_of(b->events({.queue = "work", .limit = kPageMax + 1})); }},
       {"purge a lane that is not finished", bad,
        [](auto& b) { return status_of(b->purge("work", Lane::ready)); }},
       {"a worker's time to live of 0", bad,
        [](auto& b) { return b->register_worker({.name = "w"}, 0ms); }},
       {"an edit of nothing", bad,
        [](auto& b) { return b->edit({.queue = "work", .id = "ready"}); }}});
}

TEST_P(BadCallTest, a_queue_that_does_not_exist_is_empty_to_workers_and_unknown_to_operators) {
  const Code unknown = Code::not_found;
  const Code lost = Code::lease_lost;
  const std::string q = "nowhere";
  const JobRef ref{q, "job"};
  try_each(GetParam(),
           {{"claim", Code::ok,
             [=](auto& b) {
               EXPECT_TRUE(must(b->claim({.queues = {q}})).empty());
               EXPECT_EQ(status_of(b->get_queue(q)).code(), Code::not_found);
               return Status();
             }},
            {"extend", lost, [=](auto& b) { return status_of(b->extend({.queue = q})); }},
            {"ack", lost, [=](auto& b) { return b->ack({.queue = q}); }},
            {"fail", lost, [=](auto& b) { return b->fail({.queue = q}); }},
            {"release", lost, [=](auto& b) { return b->release({.queue = q}); }},
            {"cancel", unknown, [=](auto& b) { return b->cancel(ref); }},
            {"requeue", unknown, [=](auto& b) { return b->requeue({.queue = q, .id = "job"}); }},
            {"edit", unknown,
             [=](auto& b) { return b->edit({.queue = q, .id = "job", .priority = 1}); }},
            {"hold", unknown, [=](auto& b) { return b->hold(ref); }},
            {"unhold", unknown, [=](auto& b) { return b->unhold(ref); }},
            {"break_lease", unknown, [=](auto& b) { return b->break_lease(ref); }},
            {"remove", unknown, [=](auto& b) { return b->remove(ref); }},
            {"limit_group", unknown, [=](auto& b) { return b->limit_group(q, "g", 1); }},
            {"pause", unknown, [=](auto& b) { return b->pause(q); }},
            {"resume", unknown, [=](auto& b) { return b->resume(q); }},
            {"remove_queue", unknown, [=](auto& b) { return b->remove_queue(q); }},
            {"purge", unknown, [=](auto& b) { return status_of(b->purge(q, Lane::done)); }},
            {"get_queue", unknown, [=](auto& b) { return status_of(b->get_queue(q)); }},
            {"list_groups", unknown, [=](auto& b) { return status_of(b->list_groups(q)); }},
            {"get", unknown, [=](auto& b) { return status_of(b->get(ref)); }},
            {"list", unknown, [=](auto& b) { return status_of(b->list({.queue = q})); }},
            {"peek", unknown, [=](auto& b) { return status_of(b->peek(q)); }},
            {"count", unknown, [=](auto& b) { return status_of(b->count(q)); }},
            {"count of a group", unknown, [=](auto& b) { return status_of(b->count(q, "g")); }},
            {"count_blocked_groups", unknown,
             [=](auto& b) { return status_of(b->count_blocked_groups(q)); }},
            {"explain", unknown, [=](auto& b) { return status_of(b->explain(ref)); }}});
}

TEST_P(BadCallTest, batches_and_schedules_of_a_queue_that_does_not_exist_are_unknown) {
  const Code unknown = Code::not_found;
  const std::string q = "nowhere";
  const BatchRef batch{q, "b"};
  try_each(
      GetParam(),
      {{"add_after", unknown,
        [=](auto& b) { return b->add_after({.queue = q, .id = "job", .after = {{.id = "a"}}}); }},
       {"seal_batch", unknown, [=](auto& b) { return b->seal_batch(batch); }},
       {"cancel_batch", unknown, [=](auto& b) { return b->cancel_batch(batch); }},
       {"get_batch", unknown, [=](auto& b) { return status_of(b->get_batch(batch)); }},
       {"list_batches", unknown, [=](auto& b) { return status_of(b->list_batches(q)); }},
       {"pause_schedule", unknown, [=](auto& b) { return b->pause_schedule(q, "s"); }},
       {"resume_schedule", unknown, [=](auto& b) { return b->resume_schedule(q, "s"); }},
       {"run_schedule", unknown, [=](auto& b) { return status_of(b->run_schedule(q, "s")); }},
       {"remove_schedule", unknown, [=](auto& b) { return b->remove_schedule(q, "s"); }},
       {"get_schedule", unknown, [=](auto& b) { return status_of(b->get_schedule(q, "s")); }},
       {"list_schedules", unknown, [=](auto& b) { return status_of(b->list_schedules(q)); }},
       {"events", unknown, [=](auto& b) { return status_of(b->events({.queue = q})); }},
       {"events_end", unknown, [=](auto& b) { return status_of(b->events_end(q)); }},
       {"open_batch makes it", Code::ok,
        [=](auto& b) {
          must(b->open_batch({.queue = q}));
          return status_of(b->get_queue(q));
        }},
       {"put_schedule makes it", Code::ok, [=](auto& b) {
          must(b->put_schedule({.queue = q, .name = "s", .cron = "@daily"}));
          return status_of(b->get_queue(q));
        }}});
}

// ---------------------------------------------------------------------------------------- batches

template <class T>
std::vector<Code> codes_of(const std::vector<T>& results) {
  std::vector<Code> codes;
  for (const T& result : results) {
    codes.push_back(status_of(result).code());
    EXPECT_EQ(status_of(result).message().empty(), status_of(result).ok());
  }
  return codes;
}

using Codes = std::vector<Code>;

TEST_P(BadCallTest, an_id_that_is_taken_is_refused_in_any_queue_state_and_within_a_batch) {
  const Bench bench = open();
  const std::vector<NewJob> jobs{{.queue = "work", .id = "a"},
                                 {.queue = "work", .id = "b"},
                                 {.queue = "work", .id = "a", .payload = "another"},
                                 {.queue = "other", .id = "a"},
                                 {.queue = ""},
                                 {.queue = "work", .id = "c"}};
  EXPECT_EQ(codes_of(bench->enqueue(jobs)), (Codes{Code::ok, Code::ok, Code::already_exists,
                                                   Code::ok, Code::invalid_argument, Code::ok}));
  EXPECT_EQ(codes_of(bench->enqueue(jobs)),
            (Codes{Code::already_exists, Code::already_exists, Code::already_exists,
                   Code::already_exists, Code::invalid_argument, Code::already_exists}));
  EXPECT_EQ(must(bench->get({"work", "a"}, {.payload = true})).payload, "");
  EXPECT_EQ(must(bench->count("work")).ready, 3u);
  EXPECT_EQ(must(bench->count("other")).ready, 1u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BadCallTest, an_id_may_be_used_again_once_its_job_is_gone) {
  const Bench bench = open();
  must(bench->configure("work", {.done_retention = 1h}));
  must(status_of(bench->enqueue({.queue = "work", .id = "a"})));
  must(bench->ack({.queue = "work", .token = must_claim(bench, "work").token}));
  EXPECT_EQ(status_of(bench->enqueue({.queue = "work", .id = "a"})).code(), Code::already_exists);
  bench.advance(1h);
  must(status_of(bench->sweep()));
  must(status_of(bench->enqueue({.queue = "work", .id = "a"})));
  EXPECT_EQ(lane_of(bench, {"work", "a"}), "ready");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BadCallTest, all_or_none_refuses_every_item_when_one_is_refused) {
  const Bench bench = open();
  must(status_of(bench->enqueue({.queue = "work", .id = "a"})));
  const Dump before = dump(bench);
  const std::vector<NewJob> jobs{
      {.queue = "work", .id = "x"}, {.queue = "work", .id = "a"}, {.queue = "new", .id = "y"}};
  const auto results = bench->enqueue(jobs, {.all_or_none = true});
  ASSERT_EQ(results.size(), jobs.size());
  for (const auto& result : results) EXPECT_FALSE(result);
  EXPECT_EQ(status_of(results[1]).code(), Code::already_exists);
  EXPECT_EQ(dump(bench), before);

  const std::vector<JobRef> refs{{"work", "a"}, {"work", "x"}};
  const auto cancelled = bench->cancel(refs, {.all_or_none = true});
  ASSERT_EQ(cancelled.size(), refs.size());
  EXPECT_FALSE(cancelled[0].ok());
  EXPECT_EQ(cancelled[1].code(), Code::not_found);
  EXPECT_EQ(dump(bench), before);

  EXPECT_EQ(codes_of(bench->cancel(refs)), (Codes{Code::ok, Code::not_found}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BadCallTest, all_or_none_is_refused_for_more_than_one_transaction) {
  const Bench bench = open();
  const Dump before = dump(bench);
  const std::vector<NewJob> many(kBatchJobsMax + 1, NewJob{.queue = "work"});
  for (const auto& result : bench->enqueue(many, {.all_or_none = true}))
    EXPECT_EQ(status_of(result).code(), Code::invalid_argument);
  const std::vector<NewJob> large(
      2, NewJob{.queue = "work", .payload = std::string(kBatchBytesMax / 2 + 1, 'p')});
  for (const auto& result : bench->enqueue(large, {.all_or_none = true}))
    EXPECT_EQ(status_of(result).code(), Code::invalid_argument);
  EXPECT_EQ(dump(bench), before);

  const std::vector<NewJob> most(kBatchJobsMax, NewJob{.queue = "work"});
  EXPECT_EQ(codes_of(bench->enqueue(most, {.all_or_none = true})), Codes(kBatchJobsMax, Code::ok));
  EXPECT_EQ(codes_of(bench->enqueue(many)), Codes(kBatchJobsMax + 1, Code::ok));
  EXPECT_EQ(must(bench->count("work")).ready, 2 * kBatchJobsMax + 1);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BadCallTest, an_empty_batch_does_nothing) {
  const Bench bench = open();
  const Dump before = dump(bench);
  EXPECT_TRUE(bench->enqueue(std::vector<NewJob>{}).empty());
  EXPECT_TRUE(bench->ack(std::vector<AckRequest>{}).empty());
  EXPECT_TRUE(bench->remove(std::vector<JobRef>{}, {.operation = "op"}).empty());
  EXPECT_EQ(dump(bench), before);
}

TEST_P(BadCallTest, an_ack_whose_child_is_refused_is_refused) {
  const Bench bench = open();
  must(bench->configure("small", {.backlog_max = 1}));
  must(status_of(bench->enqueue({.queue = "work", .id = "parent"})));
  must(status_of(bench->enqueue({.queue = "other", .id = "taken"})));
  const Token token = must_claim(bench, "work").token;
  const std::pair<std::vector<NewJob>, Code> children[] = {
      {{{.queue = "other"}, {.queue = "other", .id = "taken"}}, Code::already_exists},
      {{{.queue = "other", .id = "b"}, {.queue = "other", .id = "b"}}, Code::already_exists},
      {{{.queue = "small"}, {.queue = "small"}}, Code::limit_exceeded},
      {{{.queue = "other"}, {.queue = "other", .label = "none"}}, Code::invalid_argument},
      {{{.queue = "other", .unique = Unique{.key = "k"}},
        {.queue = "other", .unique = Unique{.key = "k", .policy = UniquePolicy::replace}}},
       Code::already_exists},
      {{{.queue = "other"}, {.queue = "other", .after = {{.id = "none"}}}}, Code::not_found},
      {{{.queue = "other", .batch = "none"}}, Code::not_found}};
  for (const auto& [jobs, code] : children) {
    const Dump before = dump(bench);
    const Status status = bench->ack({.queue = "work", .token = token, .children = jobs});
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_EQ(dump(bench), before);
  }
  EXPECT_EQ(lane_of(bench, {"work", "parent"}), "leased");
  must(bench->ack({.queue = "work", .token = token, .children = {{.queue = "small"}}}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BadCallTest, a_transaction_does_not_touch_again_what_it_gave_a_new_place) {
  const Bench bench = open();
  for (const char* id : {"a", "b"})
    must(status_of(bench->enqueue({.queue = "work", .id = id, .hold = true})));
  const auto commit = bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    SLUICE_TRY(jobs.enqueue({.queue = "work", .id = "new"}));
    EXPECT_EQ(jobs.cancel({"work", "new"}).code(), Code::not_found);
    SLUICE_TRY(jobs.unhold({"work", "a"}));
    EXPECT_EQ(jobs.cancel({"work", "a"}).code(), Code::invalid_argument);
    EXPECT_EQ(jobs.hold({"work", "a"}).code(), Code::invalid_argument);
    EXPECT_EQ(jobs.add_after({.queue = "work", .id = "new", .after = {{.id = "b"}}}).code(),
              Code::not_found);
    EXPECT_EQ(jobs.add_after({.queue = "work", .id = "a", .after = {{.id = "b"}}}).code(),
              Code::invalid_argument);
    EXPECT_EQ(status_of(jobs.enqueue({.queue = "work", .id = "new"})).code(), Code::already_exists);
    return jobs.unhold({"work", "b"});
  });
  must(status_of(commit));
  EXPECT_EQ(claim_all(bench, "work"), (std::vector<std::string>{"new", "a", "b"}));
  EXPECT_EQ(breaches(bench), "");
}

INSTANTIATE_ON_ENGINES(BadCallTest);

}  // namespace
}  // namespace sluice::queue
