// SPDX-License-Identifier: MIT
// The role that is killed: every verb, in several threads, as fast as it goes.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/queue/crash/actor/actor.h"
#include "tests/queue/crash/actor/batches.h"
#include "tests/queue/crash/actor/client.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kThreads = 4;

// Jobs that all threads know of. Thread-safe.
class KnownJobs {
 public:
  void add(const JobName& job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    if (jobs_.size() > 400) jobs_.pop_front();
  }

  std::optional<JobName> any(Random& random) const {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return {};
    return jobs_[random.below(jobs_.size())];
  }

 private:
  mutable std::mutex mutex_;
  std::deque<JobName> jobs_;
};

class Worker {
 public:
  Worker(queue::Queues& queues, const Notes& notes, KnownJobs& known, unsigned thread,
         std::uint64_t seed)
      : queues_(queues),
        client_(queues, notes, thread),
        known_(known),
        random_(seed * 64 + thread),
        stem_(std::to_string(seed) + "-" + std::to_string(thread) + "-") {}

  void take(const std::vector<Held>& leases) {
    for (const Held& held : leases) {
      leases_.push_back(held);
      known_.add(held.job);
    }
  }

  void step() {
    const std::uint64_t dice = random_.below(100);
    if (dice < 16)
      enqueue(1);
    else if (dice < 19)
      enqueue_unique();
    else if (dice < 21)
      enqueue_links();
    else if (dice < 22)
      run_batch();
    else if (dice < 30)
      enqueue(2 + random_.below(5));
    else if (dice < 32)
      enqueue_again();
    else if (dice < 55)
      claim();
    else if (dice < 85)
      use_lease();
    else if (dice < 97)
      operate();
    else [[maybe_unused]]
      const auto swept = queues_.sweep(random_.below(200));
  }

 private:
  // Half of the calls can be repeated.
  std::string operation() {
    return random_.chance(0.5) ? "op-" + stem_ + std::to_string(++number_) : "";
  }

  char any_queue() { return kCrashQueues[random_.below(kCrashQueues.size())]; }

  bool is_crowded(char queue) {
    const auto counts = queues_.count(queue_name(queue));
    return counts && counts->backlog() > 60;
  }

  void enqueue(std::size_t count) {
    const char queue = any_queue();
    if (is_crowded(queue)) return claim();
    std::vector<JobName> jobs;
    for (std::size_t i = 0; i < count; ++i)
      jobs.push_back(
          {.queue = i == 0 ? queue : any_queue(), .id = stem_ + std::to_string(++number_)});
    enqueue_all(jobs);
  }

  void enqueue_all(const std::vector<JobName>& jobs) {
    client_.enqueue(jobs, operation());
    for (const JobName& job : jobs) known_.add(job);
  }

  void enqueue_unique() {
    enqueue_all({{.queue = any_queue(),
                  .id = std::string(kUniqueStem) + stem_ + std::to_string(++number_)}});
  }

  void enqueue_links() {
    if (is_crowded('k')) return claim();
    const std::string name = stem_ + std::to_string(++number_);
    std::vector<JobName> jobs;
    for (std::size_t i = 0; i < 2 + random_.below(2); ++i)
      jobs.push_back({.queue = 'k', .id = link_id(name, i)});
    enqueue_all(jobs);
  }

  // If it is killed before the seal, the drain does that.
  void run_batch() {
    if (is_crowded('k')) return claim();
    const auto id = open_batch(queues_, stem_ + std::to_string(++number_));
    must(status_of(id), "open a batch");
    const std::uint64_t calls = 1 + random_.below(2);
    for (std::uint64_t i = 0; i < calls; ++i) {
      const std::string name = std::string(kMemberStem) + *id + "-" + std::to_string(2 * i);
      const std::string more = std::string(kMemberStem) + *id + "-" + std::to_string(2 * i + 1);
      enqueue_all({{.queue = 'k', .id = name}, {.queue = 'k', .id = more}});
    }
    must(queues_.seal_batch({.queue = queue_name('k'), .id = *id}), "seal a batch");
  }

  void enqueue_again() {
    const auto job = known_.any(random_);
    // A batch that is sealed refuses its members before their ids are looked at.
    if (job && keeps_done(job->queue) && !job->id.starts_with(kMemberStem))
      client_.enqueue({&*job, 1});
  }

  void claim() {
    Client::Claim claim{.queues = std::string(1, any_queue()),
                        .jobs_max = 1 + random_.below(4),
                        .lease = milliseconds(4 + random_.below(40)),
                        .operation = operation()};
    if (random_.chance(0.3)) claim.queues = kCrashQueues;
    if (claim.operation.empty()) claim.wait = milliseconds(random_.below(3));
    take(client_.claim(claim));
  }

  Held take_lease() {
    const std::size_t at = random_.below(leases_.size());
    Held held = leases_[at];
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(at));
    // Now and then it will be used once more: by then it is over.
    if (random_.chance(0.1)) leases_.push_back(held);
    return held;
  }

  void use_lease() {
    if (leases_.empty()) return claim();
    const std::uint64_t dice = random_.below(100);
    if (dice < 15) {
      client_.extend(leases_[random_.below(leases_.size())], milliseconds(5 + random_.below(40)));
    } else if (dice < 65) {
      std::vector<Held> held = {take_lease()};
      const std::uint64_t more = random_.chance(0.3) ? random_.below(4) : 0;
      while (held.size() <= more && !leases_.empty()) held.push_back(take_lease());
      std::ranges::sort(held, {}, &Held::token);
      const auto again = std::ranges::unique(held, {}, &Held::token);
      held.erase(again.begin(), again.end());
      client_.ack(held, operation());
    } else if (dice < 85) {
      client_.fail(take_lease(),
                   {.delay = milliseconds(random_.below(6)), .dead = random_.chance(0.2)});
    } else {
      client_.release(take_lease(), milliseconds(random_.chance(0.5) ? 0 : random_.below(6)));
    }
  }

  void operate() {
    static constexpr std::array kVerbs = {Verb::cancel,      Verb::requeue, Verb::requeue,
                                          Verb::hold,        Verb::unhold,  Verb::unhold,
                                          Verb::break_lease, Verb::edit};
    if (const auto job = known_.any(random_))
      client_.operate(kVerbs[random_.below(kVerbs.size())], *job);
  }

  queue::Queues& queues_;
  Client client_;
  KnownJobs& known_;
  SeededRandom random_;
  std::string stem_;
  std::uint64_t number_ = 0;
  std::vector<Held> leases_;
};

// The calls that the process before left without an answer, as the notes say: the same again. What
// it claimed is still held.
std::vector<Held> repeat_calls(Client& client, const std::vector<Note>& notes) {
  std::vector<Held> claimed;
  std::map<std::pair<unsigned, std::uint64_t>, std::vector<Note>> calls;
  for (const Note& note : notes) calls[{note.thread, note.call}].push_back(note);
  for (const auto& [call, items] : calls) {
    const std::string& operation = items[0].operation;
    std::vector<JobName> jobs;
    std::vector<Held> held;
    for (const Note& item : items) {
      jobs.push_back({.queue = item.queue, .id = item.id});
      const auto token =
          queue::Token::parse(item.token.empty() ? std::string(48, '0') : item.token);
      must(status_of(token), "read a pending token");
      held.push_back({.job = jobs.back(), .token = *token});
    }
    if (items[0].verb == Verb::enqueue) client.enqueue(jobs, operation);
    if (items[0].verb == Verb::ack) client.ack(held, operation);
    if (items[0].verb != Verb::claim) continue;
    const char letter = items[0].queue;
    const std::vector<Held> more =
        client.claim({.queues = letter == '*' ? std::string(kCrashQueues) : std::string(1, letter),
                      .jobs_max = items[0].attempts,
                      .lease = milliseconds(items[0].span_ms),
                      .operation = operation});
    claimed.insert(claimed.end(), more.begin(), more.end());
  }
  return claimed;
}

void learn_jobs(queue::Queues& queues, KnownJobs& known) {
  for (const char letter : kCrashQueues) {
    const auto page = queues.list({.queue = queue_name(letter), .limit = 200});
    must(status_of(page), "list jobs");
    for (const queue::Job& job : page->jobs) known.add({.queue = letter, .id = job.id});
  }
}

}  // namespace

int run_work(const Words& words) {
  // It is to be killed long before.
  alarm(static_cast<unsigned>(patience() / std::chrono::seconds(1)));
  const std::string pending = read_file(words.text(2));
  const Opened opened = open_or_exit(words.text(0));
  const Notes notes(words.text(1));
  must(set_up_queues(*opened.queues, kCrashQueues), "set up");
  say("going");
  Client repeater(*opened.queues, notes, kThreads);
  const std::vector<Held> claimed = repeat_calls(repeater, decode_notes(pending));
  KnownJobs known;
  learn_jobs(*opened.queues, known);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      Worker worker(*opened.queues, notes, known, i, words.number(3));
      if (i == 0) worker.take(claimed);
      for (;;) worker.step();
    });
  return 0;
}

}  // namespace sluice::test
