// SPDX-License-Identifier: MIT
// The state machine, cell by cell: reads the table of docs/design/queue.md and tries every verb on
// a job in every lane, on every engine.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "queue/testing.h"
#include "tests/support/documents.h"
#include "tests/support/run_size.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

/// Shorter than events are kept: a sweep trims those, and that is no verb.
constexpr Duration kRetention = 30min;
static_assert(kRetention < kEventsKept);

/// What a job is made with. As it stands nothing runs out by itself while retention lasts.
struct Times {
  Duration lease = 2h;
  Duration delay = 3h;
  Duration ttl = {};
};

/// How the job comes into its lane: straight, or by way of a worker, with the worker's token kept.
enum class Past { fresh, claimed };
/// What the job and its queue are like.
enum class Kind { plain, grouped, fair };

/// A job in a lane, and the token that its worker, or one that guesses, would use.
struct Subject {
  JobRef ref = {};
  Token token = {};
};

struct Shape {
  Past past = Past::fresh;
  Kind kind = Kind::plain;
};
constexpr Shape kShapes[] = {{Past::fresh, Kind::plain},   {Past::claimed, Kind::plain},
                             {Past::fresh, Kind::grouped}, {Past::claimed, Kind::grouped},
                             {Past::fresh, Kind::fair},    {Past::claimed, Kind::fair}};

std::string to_string(const Shape& shape) {
  constexpr const char* kKinds[] = {"plain", "grouped", "fair"};
  return std::string(shape.past == Past::fresh ? "fresh, " : "claimed before, ") +
         kKinds[static_cast<int>(shape.kind)];
}

NewJob new_job(const Shape& shape, const Times& times) {
  return {.queue = "work",
          .id = "job",
          .group = shape.kind == Kind::plain ? "" : "group",
          .payload = "payload",
          .ttl = times.ttl};
}

void configure(const Bench& bench, const Shape& shape) {
  must(bench->configure("work", {.done_retention = kRetention,
                                 .dead_retention = kRetention,
                                 .fair = shape.kind == Kind::fair}));
  // For the job to wait for.
  for (const char* id : {"other", "another"})
    must(status_of(bench->enqueue({.queue = "others", .id = id, .hold = true})));
}

// By as few steps as there are, into any lane but leased and done.
void bring_fresh(const Bench& bench, Lane lane, NewJob job, const Times& times) {
  job.hold = lane == Lane::held;
  if (lane == Lane::scheduled) job.delay = times.delay;
  if (lane == Lane::waiting) job.after = {{.queue = "others", .id = "other"}};
  must(status_of(bench->enqueue(job)));
  if (lane == Lane::cancelled) must(bench->cancel({job.queue, job.id}));
  if (lane != Lane::dead) return;
  // Nobody but a worker or time can make a job dead; time would run for everything else too.
  const Lease lease = must_claim(bench, job.queue);
  must(bench->fail({.queue = job.queue, .token = lease.token, .dead = true}));
}

// From leased to any lane that a worker or an operator takes it to.
void bring_on(const Bench& bench, Lane lane, const Lease& lease, const Times& times) {
  const JobRef ref{lease.queue, lease.id};
  switch (lane) {
    case Lane::held:
      must(bench->release({.queue = ref.queue, .token = lease.token}));
      return must(bench->hold(ref));
    case Lane::scheduled:
      return must(bench->fail({.queue = ref.queue, .token = lease.token, .delay = times.delay}));
    case Lane::ready:
      return must(bench->release({.queue = ref.queue, .token = lease.token}));
    case Lane::leased:
      return;
    case Lane::done:
      return must(bench->ack({.queue = ref.queue, .token = lease.token}));
    case Lane::dead:
      return must(bench->fail({.queue = ref.queue, .token = lease.token, .dead = true}));
    case Lane::cancelled:
      return must(bench->cancel(ref));
    case Lane::waiting:
      must(bench->release({.queue = ref.queue, .token = lease.token}));
      must(bench->hold(ref));
      must(bench->add_after(
          {.queue = ref.queue, .id = ref.id, .after = {{.queue = "others", .id = "other"}}}));
      return must(bench->unhold(ref));
  }
}

Subject job_in_lane(const Bench& bench, Lane lane, const Shape& shape, const Times& times) {
  const NewJob job = new_job(shape, times);
  const JobRef ref{job.queue, job.id};
  if (shape.past == Past::fresh && lane != Lane::leased && lane != Lane::done) {
    bring_fresh(bench, lane, job, times);
    return {.ref = ref, .token = {.job = must(bench->get(ref)).number, .claim = 1}};
  }
  must(status_of(bench->enqueue(job)));
  const Lease lease = must_claim(bench, job.queue, times.lease);
  bring_on(bench, lane, lease, times);
  return {.ref = ref, .token = lease.token};
}

/// The token of a job that never was.
Subject absent_job(const Shape& shape) {
  kv::Mark mark{.epoch = 0, .stamp = {}, .ordinal = 7};
  mark.stamp.bytes[9] = 1;
  const NewJob job = new_job(shape, {});
  return {.ref = {job.queue, job.id}, .token = {.job = mark, .claim = 1}};
}

// ------------------------------------------------------------------------------------------ verbs

struct Verb {
  std::function<Status(const Bench&, const Subject&)> apply = {};
  Times times = {};
};

Status sweep_after(const Bench& bench, Duration time) {
  bench.advance(time);
  return status_of(bench->sweep());
}

std::map<std::string, Verb> worker_verbs() {
  std::map<std::string, Verb> verbs;
  verbs["extend"].apply = [](const Bench& bench, const Subject& job) {
    return status_of(
        bench->extend({.queue = job.ref.queue, .token = job.token, .progress = "half"}));
  };
  verbs["ack"].apply = [](const Bench& bench, const Subject& job) {
    return bench->ack({.queue = job.ref.queue,
                       .token = job.token,
                       .result = "result",
                       .children = {{.queue = "children", .id = "child"}}});
  };
  verbs["fail"].apply = [](const Bench& bench, const Subject& job) {
    return bench->fail({.queue = job.ref.queue, .token = job.token, .error = "error"});
  };
  verbs["release"].apply = [](const Bench& bench, const Subject& job) {
    return bench->release({.queue = job.ref.queue, .token = job.token});
  };
  return verbs;
}

void add_operator_verbs(std::map<std::string, Verb>& verbs) {
  verbs["cancel"].apply = [](const Bench& bench, const Subject& job) {
    return bench->cancel(job.ref);
  };
  verbs["requeue"].apply = [](const Bench& bench, const Subject& job) {
    return bench->requeue({.queue = job.ref.queue, .id = job.ref.id});
  };
  verbs["edit (priority)"].apply = [](const Bench& bench, const Subject& job) {
    return bench->edit({.queue = job.ref.queue, .id = job.ref.id, .priority = 1});
  };
  verbs["edit (due)"].apply = [](const Bench& bench, const Subject& job) {
    return bench->edit({.queue = job.ref.queue, .id = job.ref.id, .due = bench.now() + 4h});
  };
  verbs["edit (payload)"].apply = [](const Bench& bench, const Subject& job) {
    return bench->edit({.queue = job.ref.queue, .id = job.ref.id, .payload = "other"});
  };
  verbs["hold"].apply = [](const Bench& bench, const Subject& job) { return bench->hold(job.ref); };
  verbs["unhold"].apply = [](const Bench& bench, const Subject& job) {
    return bench->unhold(job.ref);
  };
  verbs["break_lease"].apply = [](const Bench& bench, const Subject& job) {
    return bench->break_lease(job.ref);
  };
  verbs["add_after"].apply = [](const Bench& bench, const Subject& job) {
    return bench->add_after({.queue = job.ref.queue,
                             .id = job.ref.id,
                             .after = {{.queue = "others", .id = "another"}}});
  };
  verbs["remove"].apply = [](const Bench& bench, const Subject& job) {
    return bench->remove(job.ref);
  };
}

/// Every row of the table by its first cell.
std::map<std::string, Verb> all_verbs() {
  std::map<std::string, Verb> verbs = worker_verbs();
  add_operator_verbs(verbs);
  verbs["enqueue (same id)"].apply = [](const Bench& bench, const Subject& job) {
    return status_of(bench->enqueue({.queue = job.ref.queue, .id = job.ref.id}));
  };
  verbs["claim"].apply = [](const Bench& bench, const Subject& job) {
    return status_of(bench->claim({.queues = {job.ref.queue}}));
  };
  const auto sweep = [&](const char* name, Duration time, const Times& times) {
    verbs[name] = {
        .apply = [time](const Bench& bench, const Subject&) { return sweep_after(bench, time); },
        .times = times};
  };
  sweep("sweep, due", 5min, {.delay = 5min});
  sweep("sweep, lease over", 5min, {.lease = 5min});
  sweep("sweep, ttl over", 10min, {.ttl = 10min});
  sweep("sweep, retention over", kRetention, {});
  return verbs;
}

// ------------------------------------------------------------------------------------------ table

using Row = std::vector<std::string>;

Row cells_of(const std::string& line) {
  Row cells;
  for (std::size_t at = 1, bar; (bar = line.find('|', at)) != line.npos; at = bar + 1) {
    const std::string cell = line.substr(at, bar - at);
    const std::size_t from = cell.find_first_not_of(' ');
    cells.push_back(from == cell.npos ? ""
                                      : cell.substr(from, cell.find_last_not_of(' ') - from + 1));
  }
  return cells;
}

/// The table under "Lanes and verbs", the head first, without the line under it.
std::vector<Row> read_table() {
  std::istringstream file(test::read_document("design/queue.md"));
  std::string line;
  while (std::getline(file, line) && line != "## Lanes and verbs") {
  }
  std::vector<Row> rows;
  while (std::getline(file, line) && !line.starts_with('#'))
    if (line.starts_with('|')) rows.push_back(cells_of(line));
  if (rows.size() >= 2) rows.erase(rows.begin() + 1);
  return rows;
}

// One cell on a store of its own. `expected` is a lane, "gone", a code, or "-": nothing happens.
void try_cell(EngineKind engine, const Verb& verb, const std::string& column,
              const std::string& expected, const Shape& shape) {
  const Bench bench = open_bench(engine);
  configure(bench, shape);
  const auto lane = lane_from_name(column);
  const Subject job = lane ? job_in_lane(bench, *lane, shape, verb.times) : absent_job(shape);
  ASSERT_EQ(lane_of(bench, job.ref), column);
  ASSERT_EQ(breaches(bench), "");

  const Dump before = dump(bench);
  const Status status = verb.apply(bench, job);
  EXPECT_EQ(breaches(bench), "");
  if (expected == "-" || (!lane_from_name(expected) && expected != "gone")) {
    EXPECT_EQ(code_name(status.code()), expected == "-" ? std::string("ok") : expected);
    EXPECT_EQ(dump(bench), before) << "refused, but something has changed";
    return;
  }
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(lane_of(bench, job.ref), expected == "gone" ? "absent" : expected);
  Counts counts;
  if (expected != "gone") counts.of(*lane_from_name(expected)) = 1;
  EXPECT_EQ(must(bench->count(job.ref.queue)), counts);
}

class LaneVerbTest : public OnEngines {};

TEST_P(LaneVerbTest, every_verb_does_to_every_lane_what_the_table_says) {
  const std::map<std::string, Verb> verbs = all_verbs();
  const std::vector<Row> table = read_table();
  ASSERT_GT(table.size(), 1u) << "docs/design/queue.md";
  const Row& head = table.front();
  ASSERT_EQ(head.size(), 2 + kLaneCount) << "verb, absent and every lane";
  std::uint64_t tried = 0;
  for (std::size_t row = 1; row < table.size(); ++row) {
    ASSERT_EQ(table[row].size(), head.size()) << table[row].front();
    ASSERT_TRUE(verbs.contains(table[row].front())) << table[row].front();
    for (std::size_t column = 1; column < head.size(); ++column) {
      ++tried;
      for (const Shape& shape : kShapes) {
        SCOPED_TRACE(table[row].front() + " of a job that is " + head[column] + " (" +
                     to_string(shape) + "): " + table[row][column]);
        try_cell(GetParam(), verbs.at(table[row].front()), head[column], table[row][column], shape);
      }
    }
  }
  EXPECT_EQ(table.size() - 1, verbs.size()) << "a verb of this test is not in the table";
  EXPECT_EQ(tried, verbs.size() * (1 + kLaneCount)) << "absent and every lane";
  test::print_figure(std::string("queue.lane_verb.cells_") + engine_name(GetParam()), tried);
}

// ----------------------------------------------------------------------------------------- tokens

/// A token and the code that all four verbs of a worker answer to it.
struct TokenCase {
  const char* name;
  Code code;
  std::function<Subject(const Bench&)> arrange;
};

constexpr Duration kLease = 5min;

Subject enqueue_and_claim(const Bench& bench) {
  must(status_of(bench->enqueue({.queue = "work", .id = "job"})));
  const Lease lease = must_claim(bench, "work", kLease);
  return {.ref = {lease.queue, lease.id}, .token = lease.token};
}

std::vector<TokenCase> token_cases() {
  const auto after = [](Duration time) {
    return [time](const Bench& bench) {
      const Subject job = enqueue_and_claim(bench);
      bench.advance(time);
      return job;
    };
  };
  const auto changed = [](const std::function<void(Subject&)>& change) {
    return [change](const Bench& bench) {
      Subject job = enqueue_and_claim(bench);
      change(job);
      return job;
    };
  };
  const auto then = [](const std::function<void(const Bench&, const Subject&)>& more) {
    return [more](const Bench& bench) {
      const Subject job = enqueue_and_claim(bench);
      more(bench, job);
      return job;
    };
  };
  return {
      {"at once", Code::ok, after(0ms)},
      {"one millisecond before the deadline", Code::ok, after(kLease - 1ms)},
      {"at the deadline", Code::lease_lost, after(kLease)},
      {"after the deadline", Code::lease_lost, after(kLease + 1ms)},
      {"of an older claim, released", Code::lease_lost, then([](auto& bench, auto& job) {
         must(bench->release({.queue = "work", .token = job.token}));
         must_claim(bench, "work");
       })},
      {"of an older claim, broken", Code::lease_lost, then([](auto& bench, auto& job) {
         must(bench->break_lease(job.ref));
         must_claim(bench, "work");
       })},
      {"of an older claim, lapsed", Code::lease_lost, then([](auto& bench, auto&) {
         bench.advance(kLease);
         must_claim(bench, "work");
       })},
      {"of an older claim, failed", Code::lease_lost, then([](auto& bench, auto& job) {
         must(bench->fail({.queue = "work", .token = job.token, .delay = 0ms}));
         must_claim(bench, "work");
       })},
      {"of an acked job", Code::lease_lost, then([](auto& bench, auto& job) {
         must(bench->ack({.queue = "work", .token = job.token}));
       })},
      {"of a removed job", Code::lease_lost, then([](auto& bench, auto& job) {
         must(bench->ack({.queue = "work", .token = job.token}));
         must(bench->remove(job.ref));
       })},
      {"of a job whose id is in use again", Code::lease_lost, then([](auto& bench, auto& job) {
         must(bench->ack({.queue = "work", .token = job.token}));
         must(bench->remove(job.ref));
         EXPECT_GT(enqueue_and_claim(bench).token, job.token);
       })},
      {"of a job that was requeued and claimed", Code::lease_lost, then([](auto& bench, auto& job) {
         must(bench->cancel(job.ref));
         must(bench->requeue({.queue = "work", .id = "job"}));
         EXPECT_GT(must_claim(bench, "work").token, job.token);
       })},
      {"of a later claim, guessed", Code::lease_lost,
       changed([](auto& job) { ++job.token.claim; })},
      {"of no claim", Code::lease_lost, changed([](auto& job) { job.token.claim = 0; })},
      {"of another job", Code::lease_lost, changed([](auto& job) { ++job.token.job.ordinal; })},
      {"with another queue", Code::lease_lost, changed([](auto& job) { job.ref.queue = "rest"; })},
      {"with no queue of that name", Code::lease_lost,
       changed([](auto& job) { job.ref.queue = "nowhere"; })},
  };
}

TEST_P(LaneVerbTest, the_verbs_of_a_worker_need_the_token_of_a_lease_that_is_held) {
  std::uint64_t tried = 0;
  for (const TokenCase& token : token_cases())
    for (const auto& [name, verb] : worker_verbs()) {
      SCOPED_TRACE(name + " with a token " + token.name);
      const Bench bench = open();
      configure(bench, {});
      must(bench->configure("rest", {}));
      const Subject job = token.arrange(bench);
      const Dump before = dump(bench);
      const Status status = verb.apply(bench, job);
      EXPECT_EQ(status.code(), token.code) << status.to_string();
      EXPECT_EQ(dump(bench) == before, token.code != Code::ok);
      EXPECT_EQ(status.message().empty(), token.code == Code::ok);
      EXPECT_EQ(breaches(bench), "");
      ++tried;
    }
  EXPECT_EQ(tried, token_cases().size() * 4);
}

TEST_P(LaneVerbTest, a_refused_worker_does_not_disturb_the_one_that_holds_the_job) {
  for (const auto& [name, verb] : worker_verbs()) {
    SCOPED_TRACE(name);
    const Bench bench = open();
    configure(bench, {});
    const Subject first = enqueue_and_claim(bench);
    must(bench->break_lease(first.ref));
    const Lease second = must_claim(bench, "work", kLease);
    EXPECT_EQ(second.attempt, 2u);
    EXPECT_GT(second.token, first.token);
    EXPECT_EQ(verb.apply(bench, first).code(), Code::lease_lost);
    must(bench->ack({.queue = "work", .token = second.token}));
    EXPECT_EQ(lane_of(bench, first.ref), "done");
  }
}

INSTANTIATE_ON_ENGINES(LaneVerbTest);

}  // namespace
}  // namespace sluice::queue
