// SPDX-License-Identifier: MIT
// Between a worker and the store: runs that are over go in, leases come out, both in the same
// transactions, so that one sync pays for both and jobs run while it happens.
#pragma once

#include <sluice/queue.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "base/mutex.h"

namespace sluice::worker {

/// What is to become of a lease. A transaction with a release in it claims nothing: it could not
/// see the job that it has just put back, and would take a later one first.
struct Settlement {
  std::variant<queue::AckRequest, queue::FailRequest, queue::ReleaseRequest> request = {};
  std::optional<queue::NewJob> follow_up = {};  ///< Enqueued in the same transaction.
  std::string spare = {};  ///< A file that nobody needs once that is committed.

  bool is_release() const { return std::holds_alternative<queue::ReleaseRequest>(request); }
};

struct ExchangeOptions {
  std::vector<std::string> queues = {};
  std::string worker = {};
  Duration lease = std::chrono::hours(1);
  LogSink log = {};
};

/// One thread that talks to the store, for one other thread that runs jobs. All members are for
/// that other thread, and none of them waits for the disk except finish().
///
/// Whatever was settled when a transaction begins is in it, so while one syncs the next fills up.
/// With nothing to settle it waits in Queues::claim for a job to come. What is settled waits until
/// want() says so or a job is to be put back: a sync for each short job would cost more than the
/// job.
class Exchange {
 public:
  static Result<std::unique_ptr<Exchange>> open(queue::Queues& queues, ExchangeOptions options);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Readable when there is something to take, or when the store has failed.
  int wake_fd() const { return wake_.get(); }

  void settle(Settlement settlement);
  /// Keeps these leases alive. Those that were lost are found in `Taken::lost`.
  void extend(std::vector<queue::ExtendRequest> requests);
  /// Claims up to this many, beginning now, and goes on until it has got some; perhaps fewer, if
  /// fewer were wanted when it began. What has been taken meanwhile counts as part of them.
  /// Replaces what was wanted before. If `flushing`, also begins a transaction with what is
  /// settled, if anything is; both are one.
  void want(std::size_t jobs, bool flushing);

  struct Taken {
    std::vector<queue::Lease> leases = {};
    std::vector<std::string> spare = {};  ///< Settlement::spare of what is committed.
    std::size_t released = 0;             ///< Releases that are committed.
    std::vector<queue::Token> lost = {};  ///< Extended in vain: somebody else decided about them.
    Status failure = {};  ///< Set once the store has failed: nothing works any more.
  };
  /// Never waits; resets wake_fd().
  Taken take();

  /// Settles the rest and ends the thread. Leases that were claimed meanwhile are left in take().
  Status finish();

 private:
  Exchange(queue::Queues& queues, ExchangeOptions options, Descriptor wake);
  struct Round;
  void work(const std::stop_token& stop);
  bool wait_for_work(Round& round, const std::stop_token& stop);
  void take_outbox(Round& round) SLUICE_ANNOTATE(requires_capability(mutex_));
  Status exchange(Round& round);
  Status claim_waiting(Round& round);
  void extend_now(Round& round);
  void deliver(Round& round, Status status);
  void interrupt_claim() SLUICE_ANNOTATE(requires_capability(mutex_));
  void wake() const;

  queue::Queues& queues_;
  const ExchangeOptions options_;
  const Descriptor wake_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Settlement> outbox_ SLUICE_GUARDED_BY(mutex_);
  std::vector<queue::ExtendRequest> extensions_ SLUICE_GUARDED_BY(mutex_);
  std::size_t wanted_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool flushing_ SLUICE_GUARDED_BY(mutex_) = false;
  bool finishing_ SLUICE_GUARDED_BY(mutex_) = false;
  Taken inbox_ SLUICE_GUARDED_BY(mutex_);
  /// Ends the claim that waits at the moment; made anew for each.
  std::optional<std::stop_source> claiming_ SLUICE_GUARDED_BY(mutex_);

  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace sluice::worker
