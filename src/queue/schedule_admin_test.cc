// SPDX-License-Identifier: MIT
// Schedules that are paused, run by hand, put again or removed, and what a schedule may not be.
#include <sluice/queue.h>

#include <optional>
#include <string>
#include <vector>

#include "queue/schedule_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ScheduleAdminTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ScheduleAdminTest);

// ----------------------------------------------------------------------------------------- by hand

TEST_P(ScheduleAdminTest, pausing_forgets_the_plan_and_resuming_makes_a_new_one) {
  const Bench bench = open();
  put_s(bench);
  must(bench->pause_schedule("q", "s"));
  EXPECT_TRUE(look_s(bench).paused);
  EXPECT_EQ(look_s(bench).next, std::nullopt);
  EXPECT_EQ(breaches(bench), "");
  bench.advance(kToFirst + 20min + 1s);
  EXPECT_EQ(must(bench->sweep()).fired, 0u);
  must(bench->pause_schedule("q", "s"));
  must(bench->resume_schedule("q", "s"));
  EXPECT_FALSE(look_s(bench).paused);
  EXPECT_EQ(look_s(bench).next, kFirst + 25min) << "what it missed is not made up for";
  must(bench->resume_schedule("q", "s"));
  EXPECT_EQ(must(bench->sweep()).fired, 0u);
  bench.advance(5min);
  EXPECT_EQ(must(bench->sweep()).fired, 1u);
  EXPECT_EQ(planned(bench), Times{kFirst + 25min});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleAdminTest, running_it_by_hand_comes_beside_the_plan) {
  const Bench bench = open();
  put_s(bench, {.payload = "payload"});
  const std::string id = must(bench->run_schedule("q", "s"));
  const Job job = must(bench->get({"q", id}, {.payload = true}));
  EXPECT_EQ(job.planned, bench.now());
  EXPECT_EQ(job.schedule, "s");
  EXPECT_EQ(job.payload, "payload");
  EXPECT_EQ(look_s(bench).last_id, id);
  EXPECT_EQ(look_s(bench).fired, 1u);
  EXPECT_EQ(look_s(bench).next, kFirst);
  must(bench->pause_schedule("q", "s"));
  EXPECT_NE(must(bench->run_schedule("q", "s")), id) << "also while it is paused";
  EXPECT_EQ(look_s(bench).next, std::nullopt);
  EXPECT_EQ(must(bench->count("q")), (Counts{.ready = 2}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleAdminTest, putting_it_again_goes_on_from_now) {
  const Bench bench = open();
  put_s(bench, {.payload = "old"});
  const WallTime created = bench.now();
  bench.advance(kToFirst);
  must(bench->sweep());
  bench.advance(7min);
  put_s(bench, {.payload = "new"}, "@hourly");
  const Schedule schedule = look_s(bench);
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
  put_s(bench);
  EXPECT_TRUE(look_s(bench).paused);
  EXPECT_EQ(look_s(bench).next, std::nullopt);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScheduleAdminTest, a_removed_schedule_fires_no_more_and_its_jobs_stay) {
  const Bench bench = open();
  put_s(bench);
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

TEST_P(ScheduleAdminTest, a_queue_with_schedules_is_not_removed) {
  const Bench bench = open();
  put_s(bench);
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

TEST_P(ScheduleAdminTest, what_a_schedule_may_not_be) {
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

TEST_P(ScheduleAdminTest, what_a_schedule_may_just_be) {
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
