// SPDX-License-Identifier: MIT
// One caller of the queues that notes each call before it is made and each answer after.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/queue/crash/notes.h"
#include "tests/queue/crash/workload.h"

namespace sluice::test {

struct JobName {
  char queue = '-';
  std::string id = {};
};

/// What a claim brought.
struct Held {
  JobName job = {};
  queue::Token token = {};
};

/// Not thread-safe: one per thread.
class Client {
 public:
  Client(queue::Queues& queues, const Notes& notes, unsigned thread)
      : queues_(queues), notes_(notes), thread_(thread) {}

  /// `operation` may be empty. Several jobs are one batch, which is one transaction.
  void enqueue(std::span<const JobName> jobs, const std::string& operation = {});

  struct Claim {
    std::string queues = {};  ///< Letters.
    std::size_t jobs_max = 1;
    Duration lease = {};
    Duration wait = {};
    std::string operation = {};
  };
  std::vector<Held> claim(const Claim& claim);

  Code extend(const Held& held, Duration lease);
  /// With what ack_of() says. Several are one batch.
  void ack(std::span<const Held> held, const std::string& operation = {});
  struct Fail {
    Duration delay = {};
    bool dead = false;
  };
  void fail(const Held& held, const Fail& how);
  void release(const Held& held, Duration delay);

  /// cancel, requeue, hold, unhold, break_lease and edit (of the priority).
  void operate(Verb verb, const JobName& job);
  void look(const JobName& job);
  /// Notes store time beside the stamps of the notes.
  void tell_time();

 private:
  Note begin_call(Verb verb);
  void say(Note note) const;
  void answer(Note note, Code code) const;
  Status operate_now(Verb verb, const queue::JobRef& job);

  queue::Queues& queues_;
  const Notes& notes_;
  unsigned thread_;
  std::uint64_t calls_ = 0;
};

}  // namespace sluice::test
