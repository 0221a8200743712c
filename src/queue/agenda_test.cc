// SPDX-License-Identifier: MIT
// The agenda: claims alone carry everything, a paused queue waits for a sweep, each note is dealt
// with once, and whoever has nothing to do is told until when.
#include <sluice/queue.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "queue/agenda.h"
#include "queue/keys.h"
#include "queue/names.h"
#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class AgendaTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(AgendaTest);

/// The notes on the agenda of queue "q".
std::vector<AgendaEntry> notes(const Bench& bench) {
  std::vector<AgendaEntry> found;
  must(bench.store().read([&](kv::Reader& reader) -> Status {
    found.clear();
    SLUICE_LET(entries, reader.scan(Keys(hash_of("q")).all(Space::agenda)));
    for (const auto& entry : entries) {
      SLUICE_LET(parsed, read_agenda_key(entry.key));
      found.push_back(std::move(parsed));
    }
    return {};
  }));
  return found;
}

/// Brings one note on the agenda of queue "q", and what shows that it was dealt with.
struct Case {
  const char* name;
  Errand errand;
  Duration due;  ///< From now.
  std::function<void(const Bench&)> arrange;
  std::function<bool(const Bench&)> dealt_with;
};

constexpr std::size_t kDependants = 1'010;

void arrange_release(const Bench& bench) {
  must(bench->enqueue({.queue = "q", .id = "p"}));
  std::vector<NewJob> jobs;
  for (std::size_t i = 0; i < kDependants; ++i)
    jobs.push_back({.queue = "w", .after = {{.queue = "q", .id = "p"}}});
  for (const auto& result : bench->enqueue(jobs)) must(result);
  must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
}

void arrange_drop(const Bench& bench) {
  must(bench->open_batch({.queue = "q", .id = "b"}));
  must(bench->enqueue({.queue = "q", .id = "member", .hold = true, .batch = "b"}));
  must(bench->cancel_batch({"q", "b"}));
}

void arrange_free(const Bench& bench) {
  must(bench->enqueue(
      {.queue = "q", .id = "j", .unique = Unique{.key = "k", .lanes = {}, .window = 10min}}));
  must(bench->cancel({"q", "j"}));
}

void arrange_forget(const Bench& bench) {
  must(bench->open_batch({.queue = "q", .id = "b"}));
  must(bench->seal_batch({"q", "b"}));
}

/// All but `check`, which takes two at once: that is in batch_race_test.cc.
std::vector<Case> cases() {
  return {
      {"fire", Errand::fire, 100s,
       [](auto& b) { must(b->put_schedule({.queue = "q", .name = "s", .cron = "*/5 * * * *"})); },
       [](auto& b) { return must(b->get_schedule("q", "s")).fired == 1; }},
      {"release", Errand::release, 0s, arrange_release,
       [](auto& b) { return must(b->count("w")).ready == kDependants; }},
      {"drop", Errand::drop, 0s, arrange_drop,
       [](auto& b) { return must(b->get_batch({"q", "b"})).ended.has_value(); }},
      {"free", Errand::free, 10min, arrange_free,
       [](auto& b) {
         return !notes(b).empty()
                    ? false
                    : b->enqueue({.queue = "q", .unique = Unique{.key = "k"}}).has_value();
       }},
      {"forget", Errand::forget, 1h, arrange_forget,
       [](auto& b) { return status_of(b->get_batch({"q", "b"})).code() == Code::not_found; }}};
}

bool has_note(const Bench& bench, Errand errand) {
  for (const AgendaEntry& note : notes(bench))
    if (note.errand == errand) return true;
  return false;
}

TEST_P(AgendaTest, claims_alone_and_sweeps_alone_carry_everything) {
  for (const Case& one : cases())
    for (const bool by_claim : {true, false}) {
      SCOPED_TRACE(std::string(one.name) + (by_claim ? ", claim" : ", sweep"));
      const Bench bench = open();
      one.arrange(bench);
      const auto work = [&] {
        if (by_claim)
          must(bench->claim({.queues = {"q"}}));
        else
          must(bench->sweep());
      };
      ASSERT_TRUE(has_note(bench, one.errand));
      EXPECT_EQ(breaches(bench), "");
      if (one.due > 0s) {
        bench.advance(one.due - 1ms);
        work();
        EXPECT_TRUE(has_note(bench, one.errand)) << "not yet";
        bench.advance(1ms);
      }
      work();
      EXPECT_TRUE(one.dealt_with(bench));
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(AgendaTest, a_claim_on_a_paused_queue_does_none_of_it_and_a_sweep_does) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const Bench bench = open();
    one.arrange(bench);
    must(bench->pause("q"));
    bench.advance(one.due);
    const Dump before = dump(bench);
    EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
    EXPECT_EQ(dump(bench), before);
    must(bench->sweep());
    EXPECT_TRUE(one.dealt_with(bench));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AgendaTest, whoever_finds_nothing_is_told_when_there_is_something) {
  for (const Case& one : cases()) {
    if (one.due == 0s) continue;
    SCOPED_TRACE(one.name);
    const Bench bench = open();
    one.arrange(bench);
    const WallTime due = bench.now() + one.due;
    must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
      Scope scope(*bench.queues, txn);
      SLUICE_LET(claimed, scope.claim({.queues = {"q"}}));
      EXPECT_FALSE(claimed.moved);
      EXPECT_EQ(claimed.next, due);
      return {};
    })));
    const auto next = must(bench->sweep()).next;
    ASSERT_TRUE(next);
    EXPECT_LE(*next, due);
  }
}

TEST_P(AgendaTest, several_processes_do_each_note_once) {
  for (int round = 0; round < 5; ++round) {
    const Bench bench = open();
    const auto other = must(Queues::open(bench.store()));
    for (int i = 0; i < 20; ++i) {
      const std::string id = std::to_string(i);
      must(bench->open_batch({.queue = "q", .id = id, .on_end = NewJob{.queue = "cb"}}));
      const std::vector<NewJob> jobs(5, NewJob{.queue = "q", .hold = true, .batch = id});
      for (const auto& result : bench->enqueue(jobs)) must(result);
      must(bench->cancel_batch({"q", id}));
    }
    {
      std::jthread thread([&] { must(other->sweep()); });
      must(bench->claim({.queues = {"q"}}));
      must(bench->sweep());
    }
    EXPECT_EQ(must(bench->count("cb")).ready, 20u);
    for (const Batch& batch : must(bench->list_batches("q"))) {
      EXPECT_EQ(batch.dropped, 5u);
      EXPECT_TRUE(batch.ended);
    }
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AgendaTest, a_claim_takes_at_most_64_steps_of_it) {
  const Bench bench = open();
  for (int i = 0; i < 100; ++i)
    must(bench->enqueue({.queue = "q",
                         .hold = true,
                         .unique = Unique{.key = std::to_string(i), .lanes = {}, .window = 1min}}));
  EXPECT_EQ(notes(bench).size(), 100u);
  bench.advance(1min);
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope scope(*bench.queues, txn);
    SLUICE_LET(claimed, scope.claim({.queues = {"q"}}));
    EXPECT_TRUE(claimed.moved);
    return {};
  })));
  EXPECT_EQ(notes(bench).size(), 100 - kClaimMovesMax);
  EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
  EXPECT_EQ(notes(bench).size(), 0u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AgendaTest, a_queue_is_not_removed_while_others_wait_for_what_is_on_its_agenda) {
  const Bench bench = open();
  must(bench->configure("q", {.dead_retention = 0h}));
  must(bench->enqueue({.queue = "q", .id = "p"}));
  std::vector<NewJob> jobs(kDependants, NewJob{.queue = "w", .after = {{.queue = "q", .id = "p"}}});
  for (const auto& result : bench->enqueue(jobs)) must(result);
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .dead = true}));
  must(bench->remove({"q", "p"}));
  EXPECT_EQ(must(bench->count("w")), (Counts{.waiting = kDependants - 1'000, .dead = 1'000}));
  EXPECT_EQ(bench->remove_queue("q").code(), Code::conflict);
  must(bench->sweep());
  must(bench->remove_queue("q"));
  EXPECT_EQ(must(bench->count("w")), (Counts{.dead = kDependants}));
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
