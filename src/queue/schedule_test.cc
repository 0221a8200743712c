// SPDX-License-Identifier: MIT
// Schedules: jobs by the calendar, once per planned time.
#include <sluice/queue.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ScheduleTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ScheduleTest);

/// 2023-11-14 22:15:00 UTC; tests begin 100 seconds before that.
constexpr WallTime kFirst{std::chrono::seconds(1'700'000'100)};
constexpr Duration kToFirst = 100s;

void put(const Bench& bench, NewJob job = {}, const char* cron = "*/5 * * * *") {
  must(bench->put_schedule({.queue = "q", .name = "s", .cron = cron, .job = std::move(job)}));
}

Schedule look(const Bench& bench) {
  return must(bench->get_schedule("q", "s"));
}

/// The planned times of the queue's jobs, in the order they were enqueued.
std::vector<WallTime> planned(const Bench& bench) {
  std::vector<WallTime> times;
  for (const Job& job : must(bench->list({.queue = "q", .limit = kPageMax})).jobs) {
    EXPECT_EQ(job.schedule, "s");
    times.push_back(job.planned.value_or(WallTime{}));
  }
  return times;
}

using Times = std::vector<WallTime>;

// ------------------------------------------------------------------------------------------ firing

TEST_P(ScheduleTest, fires_at_its_planned_times_with_the_time_in_the_job) {
  for (const bool by_claim : {true, false}) {
    const Bench bench = open();
    put(bench, {.group = "g", .payload = "payload", .priority = 2});
    Schedule schedule = look(bench);
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
      schedule = look(bench);
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
  put(bench);
  bench.advance(kToFirst + 3h + 4min);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), Times{kFirst + 3h});
  EXPECT_EQ(look(bench).next, kFirst + 3h + 5min);
  EXPECT_EQ(look(bench).fired, 1u);
  EXPECT_EQ(look(bench).skipped, 0u);
  bench.advance(1min);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), (Times{kFirst + 3h, kFirst + 3h + 5min}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, a_restart_in_between_changes_nothing) {
  Bench bench = open();
  put(bench);
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
  put(bench);
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
  EXPECT_EQ(look(bench).fired, 20u);
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
  put(bench);
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
  put(bench);
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
    put(bench, {.unique = Unique{.key = "k", .policy = policy}});
    bench.advance(kToFirst);
    must(bench->sweep());
    const std::string first = look(bench).last_id;
    bench.advance(5min);
    EXPECT_EQ(must(bench->sweep()).fired, 1u) << "a planned time was dealt with";
    Schedule schedule = look(bench);
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
    schedule = look(bench);
    EXPECT_EQ(schedule.fired, 2u);
    EXPECT_EQ(schedule.error, "");
    EXPECT_EQ(planned(bench), Times{kFirst + 10min});
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(ScheduleTest, a_job_that_replaces_takes_the_place_of_the_earlier_run) {
  const Bench bench = open();
  put(bench, {.unique = Unique{.key = "k", .policy = UniquePolicy::replace}});
  bench.advance(kToFirst);
  must(bench->sweep());
  bench.advance(5min);
  must(bench->sweep());
  EXPECT_EQ(planned(bench), Times{kFirst + 5min});
  must_claim(bench, "q", 1h);
  bench.advance(5min);
  must(bench->sweep());
  EXPECT_EQ(look(bench).skipped, 1u) << "a worker has it";
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, a_run_is_skipped_when_the_backlog_is_full) {
  const Bench bench = open();
  must(bench->configure("q", {.backlog_max = 1}));
  put(bench);
  bench.advance(kToFirst);
  must(bench->sweep());
  bench.advance(5min);
  must(bench->sweep());
  EXPECT_EQ(look(bench).skipped, 1u);
  EXPECT_NE(look(bench).error.find("has its 1 jobs"), std::string::npos) << look(bench).error;
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
  put(bench, {.label = "high"});
  must(bench->configure("q", {.labels = {}}));
  bench.advance(kToFirst);
  must(bench->sweep());
  EXPECT_EQ(look(bench).skipped, 1u);
  EXPECT_NE(look(bench).error.find("label"), std::string::npos) << look(bench).error;
  EXPECT_EQ(look(bench).next, kFirst + 5min);
  EXPECT_EQ(breaches(bench), "");
}

// ----------------------------------------------------------------------------------------- by hand

TEST_P(ScheduleTest, pausing_forgets_the_plan_and_resuming_makes_a_new_one) {
  const Bench bench = open();
  put(bench);
  must(bench->pause_schedule("q", "s"));
  EXPECT_TRUE(look(bench).paused);
  EXPECT_EQ(look(bench).next, std::nullopt);
  EXPECT_EQ(breaches(bench), "");
  bench.advance(kToFirst + 20min + 1s);
  EXPECT_EQ(must(bench->sweep()).fired, 0u);
  must(bench->pause_schedule("q", "s"));
  must(bench->resume_schedule("q", "s"));
  EXPECT_FALSE(look(bench).paused);
  EXPECT_EQ(look(bench).next, kFirst + 25min) << "what it missed is not made up for";
  must(bench->resume_schedule("q", "s"));
  EXPECT_EQ(must(bench->sweep()).fired, 0u);
  bench.advance(5min);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), Times{kFirst + 25min});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, running_it_by_hand_comes_beside_the_plan) {
  const Bench bench = open();
  put(bench, {.payload = "payload"});
  const std::string id = must(bench->run_schedule("q", "s"));
  const Job job = must(bench->get({"q", id}, {.payload = true}));
  EXPECT_EQ(job.planned, bench.now());
  EXPECT_EQ(job.schedule, "s");
  EXPECT_EQ(job.payload, "payload");
  EXPECT_EQ(look(bench).last_id, id);
  EXPECT_EQ(look(bench).fired, 1u);
  EXPECT_EQ(look(bench).next, kFirst);
  must(bench->pause_schedule("q", "s"));
  EXPECT_NE(must(bench->run_schedule("q", "s")), id) << "also while it is paused";
  EXPECT_EQ(look(bench).next, std::nullopt);
  EXPECT_EQ(must(bench->count("q")), (Counts{.ready = 2}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, putting_it_again_goes_on_from_now) {
  const Bench bench = open();
  put(bench, {.payload = "old"});
  const WallTime created = bench.now();
  bench.advance(kToFirst);
  must(bench->sweep());
  bench.advance(7min);
  put(bench, {.payload = "new"}, "@hourly");
  const Schedule schedule = look(bench);
  EXPECT_EQ(schedule.cron, "@hourly");
  EXPECT_EQ(schedule.next, kFirst + 45min);
  EXPECT_EQ(schedule.created, created);
  EXPECT_EQ(schedule.fired, 1u);
  EXPECT_EQ(must(bench->sweep()).fired, 0u) << "22:20 belonged to the old one";
  bench.advance(38min);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), (Times{kFirst, kFirst + 45min}));
  EXPECT_EQ(must(bench->list_schedules("q")).size(), 1u);
  must(bench->pause_schedule("q", "s"));
  put(bench);
  EXPECT_TRUE(look(bench).paused);
  EXPECT_EQ(look(bench).next, std::nullopt);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleTest, a_removed_schedule_fires_no_more_and_its_jobs_stay) {
  const Bench bench = open();
  put(bench);
  bench.advance(kToFirst);
  must(bench->sweep());
  must(bench->remove_schedule("q", "s"));
  bench.advance(1h);
  EXPECT_EQ(must(bench->sweep()).fired, 0u);
  EXPECT_EQ(must_claim(bench, "q").planned, kFirst);
  EXPECT_EQ(breaches(bench), "");
  const Dump before = dump(bench);
  EXPECT_EQ(status_of(bench->get_schedule("q", "s")).code(), Code::not_found);
  EXPECT_EQ(bench->remove_schedule("q", "s").code(), Code::not_found);
  EXPECT_EQ(bench->pause_schedule("q", "s").code(), Code::not_found);
  EXPECT_EQ(bench->resume_schedule("q", "s").code(), Code::not_found);
  EXPECT_EQ(status_of(bench->run_schedule("q", "s")).code(), Code::not_found);
  EXPECT_EQ(bench->remove_schedule("none", "s").code(), Code::not_found);
  EXPECT_EQ(dump(bench), before);
}

TEST_P(ScheduleTest, a_queue_with_schedules_is_not_removed) {
  const Bench bench = open();
  put(bench);
  const Dump before = dump(bench);
  EXPECT_EQ(bench->remove_queue("q").code(), Code::conflict);
  must(bench->pause_schedule("q", "s"));
  EXPECT_EQ(bench->remove_queue("q").code(), Code::conflict);
  must(bench->resume_schedule("q", "s"));
  EXPECT_EQ(dump(bench), before);
  must(bench->remove_schedule("q", "s"));
  must(bench->remove_queue("q"));
  EXPECT_EQ(breaches(bench), "");
}

// ---------------------------------------------------------------------------------------- bad ones

TEST_P(ScheduleTest, what_a_schedule_may_not_be) {
  const Bench bench = open();
  const NewSchedule good{.queue = "q", .name = "s", .cron = "@daily"};
  std::vector<NewSchedule> bad;
  for (const char* cron : {"", "*", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *",
                           "* * * 13 *", "* * * * 8", "0 0 30 2 *", "@never", "@reboot",
                           "*/0 * * * *", "5-1 * * * *", "* * * * * *", "x * * * *"}) {
    bad.push_back(good);
    bad.back().cron = cron;
  }
  const auto with = [&](auto change) {
    bad.push_back(good);
    change(bad.back());
  };
  with([](auto& s) { s.cron = "0" + std::string(kCronBytesMax, ' ') + "0 * * *"; });
  with([](auto& s) { s.queue = ""; });
  with([](auto& s) { s.name = ""; });
  with([](auto& s) { s.name = std::string(kNameBytesMax + 1, 'n'); });
  with([](auto& s) { s.job.id = "id"; });
  with([](auto& s) { s.job.queue = "other"; });
  with([](auto& s) { s.job.batch = "b"; });
  with([](auto& s) { s.job.after = {{.id = "a"}}; });
  with([](auto& s) { s.job.delay = 1s; });
  with([](auto& s) { s.job.due = WallTime{} + 1h; });
  with([](auto& s) { s.job.payload = std::string(kTemplateBytesMax + 1, 'p'); });
  with([](auto& s) { s.job.unique = Unique{}; });
  const Dump before = dump(bench);
  for (const NewSchedule& schedule : bad) {
    const Status status = bench->put_schedule(schedule);
    EXPECT_EQ(status.code(), Code::invalid_argument) << schedule.cron;
    EXPECT_FALSE(status.message().empty());
    EXPECT_EQ(dump(bench), before);
  }
}

TEST_P(ScheduleTest, what_a_schedule_may_just_be) {
  const Bench bench = open();
  must(bench->put_schedule({.queue = "q",
                            .name = std::string(kNameBytesMax, 'n'),
                            .cron = std::string(kCronBytesMax - 9, ' ') + "0 * * * *",
                            .job = {.queue = "q",
                                    .group = "g",
                                    .payload = std::string(kTemplateBytesMax, 'p'),
                                    .ttl = 1h,
                                    .retry = RetryPolicy{.attempts_max = 2},
                                    .hold = true,
                                    .unique = Unique{.key = "k", .lanes = {}, .window = 1h}}}));
  EXPECT_EQ(breaches(bench), "");
  bench.advance(1h);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  const auto jobs = must(bench->list({.queue = "q", .lane = Lane::held, .payload = true})).jobs;
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].payload->size(), kTemplateBytesMax);
  EXPECT_EQ(jobs[0].retry, (RetryPolicy{.attempts_max = 2}));
  EXPECT_TRUE(jobs[0].expires);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
