// SPDX-License-Identifier: MIT
// A store that holds one of everything, for tests that go through all keys.
#pragma once

#include <sluice/queue.h>

#include <chrono>
#include <string>

#include "queue/testing.h"

namespace sluice::queue {

using namespace std::chrono_literals;

/// What takes hours: events that are trimmed, a schedule that has fired and skipped a run.
inline void begin_flows(const Bench& bench) {
  const std::string queue = "flows";
  must(bench->configure(queue, {.done_retention = 10min}));
  must(bench->enqueue({.queue = queue, .id = "first"}));
  must(bench->put_schedule({.queue = queue,
                            .name = "hourly",
                            .cron = "@hourly",
                            .job = {.priority = 3, .unique = Unique{.key = "one at a time"}}}));
  must(bench->put_schedule({.queue = queue, .name = "paused", .cron = "0 0 1 1 *"}));
  must(bench->pause_schedule(queue, "paused"));
  bench.advance(2h);
  must(bench->sweep());
  bench.advance(1h);
  must(bench->sweep());
}

/// Adds one of every flow: keys, dependencies, batches, all in every state.
inline void fill_flows(const Bench& bench) {
  const std::string queue = "flows";
  const NewJob everything{.queue = queue,
                          .id = "callback",
                          .group = "g",
                          .payload = "p",
                          .label = "low",
                          .delay = 1s,
                          .ttl = 1h,
                          .retry = RetryPolicy{},
                          .hold = true};
  const auto add = [&](const std::string& id, const NewJob& more) {
    NewJob job = more;
    job.queue = queue;
    job.id = id;
    must(bench->enqueue(job));
  };
  // Keys: held, and held by nobody but the window.
  add("unique", {.unique = Unique{.key = "held", .window = 1h}});
  add("windowed", {.unique = Unique{.key = "window", .lanes = {}, .window = 1h}});
  // Dependencies: waited for, settled and kept, on the agenda.
  add("parent", {});
  add("waits", {.after = {{.id = "parent"}}});
  add("kept", {});
  add("waited", {.after = {{.id = "kept", .policy = AfterPolicy::end}}});
  must(bench->cancel({queue, "kept"}));
  add("releasing", {});
  kv::must_run(bench.opened, [&](kv::Transaction& txn) -> Status {
    Scope scope(*bench.queues, txn);
    must(scope.enqueue({.queue = queue,
                        .id = "later",
                        .after = {{.id = "releasing", .policy = AfterPolicy::end}}}));
    return scope.cancel({queue, "releasing"});
  });
  // Batches: open, being cancelled, ended with one callback and one that was refused.
  for (const char* id : {"open", "dropping", "over"})
    must(bench->open_batch(
        {.queue = queue, .id = id, .on_success = everything, .on_end = everything}));
  for (const char* id : {"open", "dropping", "over"})
    add(std::string("in ") + id, {.priority = 0, .batch = id});
  must(bench->cancel({queue, "in over"}));
  must(bench->seal_batch({queue, "over"}));
  must(bench->cancel_batch({queue, "dropping"}));
  must(bench->open_batch({.queue = queue, .id = "good", .on_success = everything}));
  must(bench->seal_batch({queue, "good"}));
  must(
      bench->open_batch({.queue = queue, .id = "also good", .on_success = NewJob{.queue = queue}}));
  must(bench->seal_batch({queue, "also good"}));
}

/// A store with something in every space and lane that a verb can fill.
inline Bench open_full() {
  Bench bench = open_bench(EngineKind::memory_serial);
  begin_flows(bench);
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
  config.events = false;
  must(bench->configure("all", config));
  must(bench->pause("all"));
  fill_flows(bench);
  must(bench->register_worker({.name = "w", .queues = {"plain"}}, 1h));
  EXPECT_EQ(breaches(bench), "");
  return bench;
}

}  // namespace sluice::queue
