// SPDX-License-Identifier: MIT
// A cron job, without waiting for it: the clock is the program's own, as in a test.
#include <sluice/queue.h>

#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;
using sluice::Status;
namespace kv = sluice::kv;
namespace queue = sluice::queue;

std::string time_of_day(sluice::WallTime time) {
  const std::chrono::hh_mm_ss clock(time - std::chrono::floor<std::chrono::days>(time));
  char text[16];
  std::snprintf(text, sizeof text, "%02d:%02d", static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()));
  return text;
}

Status work_off(queue::Queues& queues, const char* when) {
  SLUICE_LET(leases, queues.claim({.queues = {"backups"}, .jobs_max = 10, .worker = "cron"}));
  if (leases.empty()) std::printf("%s: nothing to do\n", when);
  for (const queue::Lease& lease : leases) {
    std::printf("%s: %s, planned for %s\n", when, lease.payload.c_str(),
                time_of_day(*lease.planned).c_str());
    SLUICE_TRY(queues.ack({.queue = lease.queue, .token = lease.token}));
  }
  return {};
}

Status work() {
  const sluice::ManualClock clock(sluice::WallTime(1'700'000'000s));  // 22:13:20, a Tuesday.
  const auto store = kv::open_memory({.clock = &clock});
  SLUICE_LET(queues, queue::Queues::open(*store));

  // The unique key lets a run be skipped while the one before is unfinished.
  SLUICE_TRY(queues->put_schedule(
      {.queue = "backups",
       .name = "hourly",
       .cron = "30 * * * *",
       .job = {.payload = "back up", .unique = queue::Unique{.key = "hourly"}}}));
  SLUICE_LET(schedule, queues->get_schedule("backups", "hourly"));
  std::printf("next: %s\n", time_of_day(*schedule.next).c_str());

  SLUICE_TRY(work_off(*queues, "now"));
  clock.advance(17min);
  SLUICE_TRY(work_off(*queues, "17 minutes later"));
  clock.advance(5h);
  SLUICE_TRY(work_off(*queues, "after five hours of downtime"));  // Once, for the last one missed.

  clock.advance(2min);
  SLUICE_TRY(queues->run_schedule("backups", "hourly"));
  SLUICE_TRY(work_off(*queues, "by hand"));
  return {};
}

int main() {
  const Status status = work();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return sluice::code_info(status.code()).exit_code;
}
