// SPDX-License-Identifier: MIT
// One schedule that the tests of schedules put and look at, and the jobs that it made.
#pragma once

#include <sluice/queue.h>

#include <chrono>
#include <utility>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {

/// 2023-11-14 22:15:00 UTC; tests begin 100 seconds before that.
inline constexpr WallTime kFirst{std::chrono::seconds(1'700'000'100)};
inline constexpr Duration kToFirst = std::chrono::seconds(100);

inline void put_s(const Bench& bench, NewJob job = {}, const char* cron = "*/5 * * * *") {
  must(bench->put_schedule({.queue = "q", .name = "s", .cron = cron, .job = std::move(job)}));
}

inline Schedule look_s(const Bench& bench) {
  return must(bench->get_schedule("q", "s"));
}

using Times = std::vector<WallTime>;

/// The planned times of the queue's jobs, in the order they were enqueued.
inline Times planned(const Bench& bench) {
  Times times;
  for (const Job& job : must(bench->list({.queue = "q", .limit = kPageMax})).jobs) {
    EXPECT_EQ(job.schedule, "s");
    times.push_back(job.planned.value_or(WallTime{}));
  }
  return times;
}

}  // namespace sluice::queue
