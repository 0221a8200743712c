// SPDX-License-Identifier: MIT
// A store that holds one of everything, for tests that go through all keys.
#pragma once

#include <sluice/queue.h>

#include <chrono>
#include <string>

#include "queue/testing.h"

namespace sluice::queue {

using namespace std::chrono_literals;

/// A store with something in every space and lane that a verb can fill.
inline Bench open_full() {
  Bench bench = open_bench(EngineKind::memory_serial);
  const auto fill = [&](const std::string& queue, const QueueConfig& config) {
    must(bench->configure(queue, config));
    const auto add = [&](const char* id, const char* group, const NewJob& more = {}) {
      NewJob job = more;
      job.queue = queue;
      job.id = id;
      job.group = group;
      must(bench->enqueue(job, {.operation = std::string("op ") + id}));
    };
    add("done", "");
    add("failed", "g", {.payload = std::string(70'000, 'x')});
    const auto leases = must(bench->claim({.queues = {queue}, .jobs_max = 2, .worker = "w"}));
    for (const Lease& lease : leases) {
      if (lease.id == "done")
        must(bench->ack({.queue = queue, .token = lease.token, .result = "r"}));
      else
        must(bench->fail({.queue = queue, .token = lease.token, .error = "e", .dead = true}));
    }
    add("leased", "g");
    must_claim(bench, queue);
    add("ready", "", {.ttl = 1h});
    add("in a group", "h");
    add("in a blocked group", "g");
    add("in a group, later", "h", {.priority = 7});
    add("scheduled", "h", {.delay = 1h, .ttl = 2h});
    add("held", "", {.payload = "small", .hold = true});
    add("cancelled", "");
    must(bench->cancel({queue, "cancelled"}));
  };
  fill("plain", {.done_retention = 1h,
                 .active_max = 3,
                 .group_max = 1,
                 .rate = Rate{.jobs = 100, .burst = 100}});
  fill("fair", {.done_retention = 1h, .group_max = 1, .shards = 2, .fair = true});
  // And a queue that has every setting and is in every state that a queue can be in.
  QueueConfig config{.priority = 1,
                     .labels = {{"label", 1}},
                     .lease = 5s,
                     .retry = {.attempts_max = 9},
                     .lapses_max = 9,
                     .done_retention = 1h,
                     .dead_retention = 1h,
                     .active_max = 9,
                     .group_max = 0,
                     .backlog_max = 99,
                     .rate = Rate{.jobs = 100, .burst = 100},
                     .shards = 4,
                     .fair = true};
  must(bench->configure("all", config));
  must(bench->limit_group("all", "limited", 5));
  for (const char* group : {"limited", "blocked"})
    must(bench->enqueue({.queue = "all", .group = group, .retry = RetryPolicy{}}));
  must_claim(bench, "all", 1s);
  bench.advance(1s);
  must(bench->sweep());
  must(
      bench->extend({.queue = "all", .token = must_claim(bench, "all").token, .progress = "half"}));
  config.group_max = 1;
  must(bench->configure("all", config));
  must(bench->pause("all"));
  must(bench->register_worker({.name = "w", .queues = {"plain"}}, 1h));
  EXPECT_EQ(breaches(bench), "");
  return bench;
}

}  // namespace sluice::queue
