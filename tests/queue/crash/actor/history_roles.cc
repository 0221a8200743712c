// SPDX-License-Identifier: MIT
// The roles of the history check: one client among many, and the one that finishes what is left.
#include <array>
#include <chrono>
#include <iostream>
#include <string>
#include <utility>

#include "tests/queue/crash/actor/actor.h"
#include "tests/queue/crash/actor/client.h"
#include "tests/queue/crash/stepped_clock.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Works on few jobs at a time, so that many processes meet at each.
class BusyClient {
 public:
  BusyClient(queue::Queues& queues, const Notes& notes, std::uint64_t seed)
      : queues_(queues),
        client_(queues, notes, 0),
        random_(seed),
        stem_(std::to_string(seed) + "-") {}

  void step() {
    if (++steps_ % 20 == 1) client_.tell_time();
    const std::uint64_t dice = random_.below(100);
    if (dice < 20)
      enqueue();
    else if (dice < 45)
      claim();
    else if (dice < 80)
      use_lease();
    else if (dice < 90)
      operate();
    else if (dice < 97)
      pause(microseconds(random_.below(4'000)));
    else if (dice < 98)
      pause(milliseconds(10 + random_.below(30)));
    else [[maybe_unused]]
      const auto swept = queues_.sweep(random_.below(50));
  }

 private:
  char any_queue() { return kHistoryQueues[random_.below(kHistoryQueues.size())]; }

  bool is_crowded(char queue) {
    const auto counts = queues_.count(queue_name(queue));
    return counts && counts->backlog() > 40;
  }

  void enqueue() {
    const char queue = any_queue();
    if (is_crowded(queue)) return claim();
    std::vector<JobName> jobs;
    const std::uint64_t count = random_.chance(0.3) ? 1 + random_.below(4) : 1;
    for (std::uint64_t i = 0; i < count; ++i)
      jobs.push_back({.queue = queue, .id = stem_ + std::to_string(++number_)});
    // An id that other processes try to use in the same moment.
    if (random_.chance(0.2)) {
      const auto moment = mono_now().time_since_epoch() / milliseconds(20);
      jobs = {{.queue = 'h', .id = "raced-" + std::to_string(moment)}};
    }
    client_.enqueue(jobs);
    recent_ = jobs.back();
  }

  void claim() {
    Client::Claim claim{.queues = std::string(1, any_queue()),
                        .jobs_max = 1 + random_.below(3),
                        .lease = milliseconds(3 + random_.below(20)),
                        .wait = milliseconds(random_.chance(0.5) ? 0 : random_.below(5))};
    if (random_.chance(0.2)) claim.queues = kHistoryQueues;
    for (const Held& held : client_.claim(claim)) {
      leases_.push_back(held);
      recent_ = held.job;
    }
  }

  Held take_lease() {
    const std::size_t at = random_.below(leases_.size());
    Held held = leases_[at];
    // Some are used once more: by then they are over.
    if (random_.chance(0.85)) leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(at));
    return held;
  }

  void use_lease() {
    if (leases_.empty()) return claim();
    const std::uint64_t dice = random_.below(100);
    if (dice < 20) {
      client_.extend(leases_[random_.below(leases_.size())], milliseconds(3 + random_.below(20)));
    } else if (dice < 65) {
      std::vector<Held> held = {take_lease()};
      if (random_.chance(0.2) && !leases_.empty()) held.push_back(take_lease());
      if (held.size() == 2 && held[0].token == held[1].token) held.pop_back();
      client_.ack(held);
    } else if (dice < 85) {
      client_.fail(take_lease(),
                   {.delay = milliseconds(random_.below(6)), .dead = random_.chance(0.2)});
    } else {
      client_.release(take_lease(), milliseconds(random_.chance(0.5) ? 0 : random_.below(6)));
    }
  }

  void operate() {
    static constexpr std::array kVerbs = {Verb::cancel, Verb::requeue, Verb::break_lease};
    if (recent_.id.empty()) return;
    if (random_.chance(0.5))
      client_.look(recent_);
    else
      client_.operate(kVerbs[random_.below(kVerbs.size())], recent_);
  }

  queue::Queues& queues_;
  Client client_;
  SeededRandom random_;
  std::string stem_;
  std::uint64_t number_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Held> leases_;
  JobName recent_;
};

}  // namespace

int run_client(const Words& words) {
  const SteppedClock clock(words.text(3));
  const MonoTime end{milliseconds(words.number(4))};
  const Notes notes(words.text(1));
  const Opened opened = open_or_exit(words.text(0), clock);
  must(set_up_queues(*opened.queues, kHistoryQueues), "set up");
  say("going");
  BusyClient client(*opened.queues, notes, words.number(2));
  while (clock.mono() < end) client.step();
  return 0;
}

int run_finish(const Words& words) {
  const SteppedClock clock(words.text(2));
  const Notes notes(words.text(1));
  const Opened opened = open_or_exit(words.text(0), clock);
  say("going");
  std::string line;
  std::getline(std::cin, line);
  Client client(*opened.queues, notes, 0);
  client.tell_time();
  const Stopwatch watch;
  for (bool busy = true; busy;) {
    if (watch.reached(patience()))
      must(error(Code::deadline_exceeded, "some jobs are never offered"), "finish");
    must(status_of(opened.queues->sweep()), "sweep");
    const std::vector<Held> held = client.claim({.queues = std::string(kHistoryQueues),
                                                 .jobs_max = 20,
                                                 .lease = std::chrono::seconds(20),
                                                 .wait = milliseconds(2)});
    if (!held.empty()) client.ack(held);
    busy = false;
    for (const char letter : kHistoryQueues) {
      const auto counts = opened.queues->count(queue_name(letter));
      must(status_of(counts), "count");
      busy = busy || counts->backlog() + counts->leased > 0;
    }
  }
  client.tell_time();
  return 0;
}

}  // namespace sluice::test
