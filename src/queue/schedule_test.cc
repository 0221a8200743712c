// SPDX-License-Identifier: MIT
// Schedules: jobs by the calendar, once per planned time, and the times that are skipped.
#include <sluice/queue.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "queue/schedule_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ScheduleTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ScheduleTest);

// ------------------------------------------------------------------------------------------ firing

TEST_P(ScheduleTest, fires_at_its_planned_times_with_the_time_in_the_job) {
  for (const bool by_claim : {true, false}) {
    const Bench bench = open();
    put_s(bench, {.group = "g", .payload = "payload", .priority = 2});
    Schedule schedule = look_s(bench);
    EXPECT_EQ(schedule.queue, "q");
    EXPECT_EQ(schedule.name, "s");
    EXPECT_EQ(schedule.cron, "*/5 * * * *");
    EXPECT_EQ(schedule.job.payload, "payload");
    EXPECT_EQ(schedule.created, bench.now());
    EXPECT_EQ(schedule.next, kFirst);
    EXPECT_EQ(schedule.planned, std::nullopt);
    bench.advance(kToFirst - 1ms);
    EXPECT_EQ(must(bench->sweep()).fired, 0u);
    EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
    for (int n = 0; n < 3; ++n) {
      bench.advance(n == 0 ? 1ms : Duration(5min));
      if (!by_claim) {
        EXPECT_EQ(must(bench->sweep()).fired, 1u);
      }
      const Lease lease = must_claim(bench, "q", 1h);
      EXPECT_EQ(lease.planned, kFirst + n * 5min);
      EXPECT_EQ(lease.schedule, "s");
      EXPECT_EQ(lease.payload, "payload");
      EXPECT_EQ(lease.group, "g");
      EXPECT_EQ(lease.priority, 2);
      const Job job = must(bench->get({"q", lease.id}));
      EXPECT_EQ(job.planned, lease.planned);
      EXPECT_EQ(job.schedule, "s");
      schedule = look_s(bench);
      EXPECT_EQ(schedule.last_id, lease.id);
      EXPECT_EQ(schedule.planned, lease.planned);
      EXPECT_EQ(schedule.next, kFirst + (n + 1) * 5min);
      EXPECT_EQ(schedule.fired, static_cast<std::uint64_t>(n + 1));
      EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty()) << "once";
      EXPECT_EQ(breaches(bench), "");
    }
  }
}

TEST_P(ScheduleTest, fires_once_after_a_downtime_for_the_last_time_that_it_missed) {
  const Bench bench = open();
  put_s(bench);
  bench.advance(kToFirst + 3h + 4min);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), Times{kFirst + 3h});
  EXPECT_EQ(look_s(bench).next, kFirst + 3h + 5min);
  EXPECT_EQ(look_s(bench).fired, 1u);
  EXPECT_EQ(look_s(bench).skipped, 0u);
  bench.advance(1min);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), (Times{kFirst + 3h, kFirst + 3h + 5min}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, a_restart_in_between_changes_nothing) {
  Bench bench = open();
  put_s(bench);
  bench.queues.reset();
  bench.advance(kToFirst);
  bench.queues = must(Queues::open(bench.store(), {.random = bench.random.get()}));
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), Times{kFirst});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, of_several_processes_one_fires) {
  const Bench bench = open();
  const auto other = must(Queues::open(bench.store()));
  put_s(bench);
  Times expected;
  for (int n = 0; n < 20; ++n) {
    bench.advance(n == 0 ? kToFirst : Duration(5min));
    expected.push_back(kFirst + n * 5min);
    std::uint64_t fired = 0;
    std::uint64_t fired_there = 0;
    {
      std::jthread thread([&] { fired_there = must(other->sweep()).fired; });
      fired = must(bench->sweep()).fired;
    }
    EXPECT_EQ(fired + fired_there, 1u);
    EXPECT_EQ(planned(bench), expected);
  }
  EXPECT_EQ(look_s(bench).fired, 20u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, several_schedules_of_a_queue_fire_each_by_its_own_calendar) {
  const Bench bench = open();
  for (const char* name : {"c", "a", "b"})
    must(bench->put_schedule(
        {.queue = "q", .name = name, .cron = "@hourly", .job = {.payload = name}}));
  must(bench->put_schedule({.queue = "q", .name = "daily", .cron = "@daily"}));
  must(bench->put_schedule({.queue = "other", .name = "x", .cron = "@hourly"}));
  bench.advance(1h);
  EXPECT_EQ(must(bench->sweep()).fired, 4u);
  std::multiset<std::string> payloads;
  for (const Lease& lease : must(bench->claim({.queues = {"q"}, .jobs_max = 10})))
    payloads.insert(lease.payload);
  EXPECT_EQ(payloads, (std::multiset<std::string>{"a", "b", "c"}));
  const auto names = [&](std::string_view after, std::size_t limit) {
    Ids found;
    for (const Schedule& one : must(bench->list_schedules("q", after, limit)))
      found.push_back(one.name);
    return found;
  };
  EXPECT_EQ(names("", 10), (Ids{"a", "b", "c", "daily"}));
  EXPECT_EQ(names("a", 2), (Ids{"b", "c"}));
  EXPECT_EQ(names("daily", 2), Ids{});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, a_paused_queue_does_not_stop_its_schedules_but_its_claims) {
  const Bench bench = open();
  put_s(bench);
  must(bench->pause("q"));
  bench.advance(kToFirst);
  EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
  EXPECT_EQ(must(bench->count("q")).total(), 0u) << "a claim on a paused queue does nothing";
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(must(bench->count("q")), (Counts{.ready = 1}));
  EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
  must(bench->resume("q"));
  EXPECT_EQ(must_claim(bench, "q").planned, kFirst);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, whoever_waits_for_a_job_is_told_when_one_is_planned) {
  const Bench bench = open();
  put_s(bench);
  const auto next = [&] {
    std::optional<WallTime> found;
    must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
      Scope scope(*bench.queues, txn);
      SLUICE_LET(claimed, scope.claim({.queues = {"q"}}));
      found = claimed.next;
      return {};
    })));
    return found;
  };
  EXPECT_EQ(next(), kFirst);
  EXPECT_EQ(must(bench->sweep()).next, kFirst);
  must(bench->pause_schedule("q", "s"));
  EXPECT_EQ(next(), std::nullopt);
}

// ---------------------------------------------------------------------------------------- skipping

TEST_P(ScheduleTest, a_run_is_skipped_while_an_earlier_one_holds_the_unique_key) {
  for (const auto policy : {UniquePolicy::reject, UniquePolicy::keep}) {
    const Bench bench = open();
    put_s(bench, {.unique = Unique{.key = "k", .policy = policy}});
    bench.advance(kToFirst);
    must(bench->sweep());
    const std::string first = look_s(bench).last_id;
    bench.advance(5min);
    EXPECT_EQ(must(bench->sweep()).fired, 1u) << "a planned time was dealt with";
    Schedule schedule = look_s(bench);
    EXPECT_EQ(schedule.fired, 1u);
    EXPECT_EQ(schedule.skipped, 1u);
    EXPECT_EQ(schedule.last_id, first);
    EXPECT_EQ(schedule.planned, kFirst + 5min);
    EXPECT_EQ(schedule.next, kFirst + 10min);
    EXPECT_NE(schedule.error.find(first), std::string::npos) << schedule.error;
    EXPECT_NE(schedule.error.find("unique key"), std::string::npos) << schedule.error;
    EXPECT_EQ(planned(bench), Times{kFirst});
    EXPECT_EQ(status_of(bench->run_schedule("q", "s")).code(), Code::already_exists);
    EXPECT_EQ(breaches(bench), "");
    must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
    bench.advance(5min);
    must(bench->sweep());
    schedule = look_s(bench);
    EXPECT_EQ(schedule.fired, 2u);
    EXPECT_EQ(schedule.error, "");
    EXPECT_EQ(planned(bench), Times{kFirst + 10min});
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(ScheduleTest, a_job_that_replaces_takes_the_place_of_the_earlier_run) {
  const Bench bench = open();
  put_s(bench, {.unique = Unique{.key = "k", .policy = UniquePolicy::replace}});
  bench.advance(kToFirst);
  must(bench->sweep());
  bench.advance(5min);
  must(bench->sweep());
  EXPECT_EQ(planned(bench), Times{kFirst + 5min});
  must_claim(bench, "q", 1h);
  bench.advance(5min);
  must(bench->sweep());
  EXPECT_EQ(look_s(bench).skipped, 1u) << "a worker has it";
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, a_run_is_skipped_when_the_backlog_is_full) {
  const Bench bench = open();
  must(bench->configure("q", {.backlog_max = 1}));
  put_s(bench);
  bench.advance(kToFirst);
  must(bench->sweep());
  bench.advance(5min);
  must(bench->sweep());
  EXPECT_EQ(look_s(bench).skipped, 1u);
  EXPECT_NE(look_s(bench).error.find("has its 1 jobs"), std::string::npos) << look_s(bench).error;
  EXPECT_EQ(status_of(bench->run_schedule("q", "s")).code(), Code::limit_exceeded);
  EXPECT_EQ(planned(bench), Times{kFirst});
  must_claim(bench, "q", 1h);
  bench.advance(5min);
  must(bench->sweep());
  EXPECT_EQ(planned(bench), (Times{kFirst, kFirst + 10min}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, a_job_that_the_queue_does_not_take_any_more_is_skipped) {
  const Bench bench = open();
  put_s(bench, {.label = "high"});
  must(bench->configure("q", {.labels = {}}));
  bench.advance(kToFirst);
  must(bench->sweep());
  EXPECT_EQ(look_s(bench).skipped, 1u);
  EXPECT_NE(look_s(bench).error.find("label"), std::string::npos) << look_s(bench).error;
  EXPECT_EQ(look_s(bench).next, kFirst + 5min);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
