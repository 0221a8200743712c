// SPDX-License-Identifier: MIT
#include "worker/exchange.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace sluice::worker {
namespace {

constexpr kv::WriteOptions kDrain{.write_class = kv::WriteClass::drain};
// A transaction that grows larger makes the jobs that wait for it wait longer.
constexpr std::size_t kSettlementsMax = 500;
constexpr Duration kClaimWait = std::chrono::hours(1);

Status settle_one(queue::Scope& scope, const Settlement& settlement) {
  return std::visit(
      [&](const auto& request) {
        using T = std::decay_t<decltype(request)>;
        if constexpr (std::is_same_v<T, queue::AckRequest>) return scope.ack(request);
        if constexpr (std::is_same_v<T, queue::FailRequest>) return scope.fail(request);
        if constexpr (std::is_same_v<T, queue::ReleaseRequest>) return scope.release(request);
      },
      settlement.request);
}

}  // namespace

/// What one transaction is about.
struct Exchange::Round {
  std::vector<Settlement> settlements = {};
  std::vector<queue::ExtendRequest> extensions = {};
  std::size_t wanted = 0;
  std::stop_token stop = {};  // Of the claim.

  std::vector<queue::Lease> leases = {};
  std::vector<queue::Token> lost = {};
  std::vector<std::string> remarks = {};
};

Exchange::Exchange(queue::Queues& queues, ExchangeOptions options, Descriptor wake)
    : queues_(queues),
      options_(std::move(options)),
      wake_(std::move(wake)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Exchange::~Exchange() {
  thread_.request_stop();
  const MutexLock lock(mutex_);
  interrupt_claim();
}

Result<std::unique_ptr<Exchange>> Exchange::open(queue::Queues& queues, ExchangeOptions options) {
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0)
    return error(Code::unavailable, std::string("cannot make an eventfd: ") + std::strerror(errno));
  return std::unique_ptr<Exchange>(new Exchange(queues, std::move(options), std::move(wake)));
}

// ------------------------------------------------------------------------ for the thread of jobs

void Exchange::settle(Settlement settlement) {
  const MutexLock lock(mutex_);
  outbox_.push_back(std::move(settlement));
}

void Exchange::extend(std::vector<queue::ExtendRequest> requests) {
  const MutexLock lock(mutex_);
  extensions_ = std::move(requests);
  interrupt_claim();
  changed_.notify_all();
}

void Exchange::want(std::size_t jobs, bool flushing) {
  const MutexLock lock(mutex_);
  flushing_ = flushing_ || (flushing && !outbox_.empty());
  if (flushing_ || jobs < wanted_) interrupt_claim();
  wanted_ = jobs;
  // Also if it is the same as before: what was delivered then has been taken since.
  if (jobs > 0 || flushing_) changed_.notify_all();
}

Exchange::Taken Exchange::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto ignored = read(wake_.get(), &count, sizeof count);
  const MutexLock lock(mutex_);
  Taken taken = std::exchange(inbox_, {});
  inbox_.failure = taken.failure;
  wanted_ -= std::min(wanted_, taken.leases.size());
  return taken;
}

Status Exchange::finish() {
  {
    const MutexLock lock(mutex_);
    wanted_ = 0;
    finishing_ = true;
    interrupt_claim();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mutex_);
  return inbox_.failure;
}

// Claims with a lease in hand are never lost by this: the claim that was interrupted still
// delivers what it got.
void Exchange::interrupt_claim() {
  if (claiming_) claiming_->request_stop();
}

void Exchange::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = write(wake_.get(), &one, sizeof one);
}

// ----------------------------------------------------------------------- the thread of the store

void Exchange::work(const std::stop_token& stop) {
  for (;;) {
    Round round;
    if (!wait_for_work(round, stop)) return;
    Status status;
    if (!round.settlements.empty())
      status = exchange(round);
    else if (round.wanted > 0)
      status = claim_waiting(round);
    if (status.ok() && !round.extensions.empty()) extend_now(round);
    const bool failed = !status.ok();
    deliver(round, std::move(status));
    if (failed) return;
  }
}

bool Exchange::wait_for_work(Round& round, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto something = [&]() SLUICE_ANNOTATE(requires_capability(mutex_)) {
    return flushing_ || !extensions_.empty() || finishing_ ||
           (wanted_ > 0 && inbox_.leases.empty());
  };
  while (!something() && !stop.stop_requested()) changed_.wait_for(lock, std::chrono::hours(1));
  if (stop.stop_requested()) return false;
  if (outbox_.empty() && extensions_.empty() && finishing_) return false;
  const bool puts_back = std::ranges::any_of(outbox_, &Settlement::is_release);
  if (flushing_ || finishing_ || puts_back) take_outbox(round);
  round.extensions = std::exchange(extensions_, {});
  round.wanted = inbox_.leases.empty() && !puts_back ? wanted_ : 0;
  claiming_.emplace();
  round.stop = claiming_->get_token();
  return true;
}

void Exchange::take_outbox(Round& round) {
  const auto some = static_cast<std::ptrdiff_t>(std::min(outbox_.size(), kSettlementsMax));
  std::move(outbox_.begin(), outbox_.begin() + some, std::back_inserter(round.settlements));
  outbox_.erase(outbox_.begin(), outbox_.begin() + some);
  flushing_ = flushing_ && !outbox_.empty();
}

// Runs are settled first: that is what frees the slots of limits that the claim wants to fill.
// Follow-ups come last, because a transaction cannot claim after it has enqueued.
Status Exchange::exchange(Round& round) {
  return status_of(queues_.store().run(
      [&](kv::Transaction& txn) -> Status {
        round.remarks.clear();
        round.leases.clear();
        queue::Scope scope(queues_, txn);
        std::vector<const queue::NewJob*> follow_ups;
        for (const Settlement& settlement : round.settlements) {
          const Status status = settle_one(scope, settlement);
          if (status.ok() && settlement.follow_up) follow_ups.push_back(&*settlement.follow_up);
          if (status.code() == Code::lease_lost)
            round.remarks.push_back(status.message());
          else
            SLUICE_TRY(status);
        }
        if (round.wanted > 0) {
          SLUICE_LET(claimed, scope.claim({.queues = options_.queues,
                                           .jobs_max = round.wanted,
                                           .lease = options_.lease,
                                           .worker = options_.worker}));
          round.leases = std::move(claimed.leases);
        }
        for (const queue::NewJob* next : follow_ups)
          if (const auto id = scope.enqueue(*next); !id)
            round.remarks.push_back("--on-done could not be enqueued: " + id.error().message());
        return {};
      },
      kDrain));
}

Status Exchange::claim_waiting(Round& round) {
  SLUICE_LET(leases, queues_.claim({.queues = options_.queues,
                                    .jobs_max = round.wanted,
                                    .lease = options_.lease,
                                    .worker = options_.worker,
                                    .wait = kClaimWait,
                                    .stop = round.stop}));
  round.leases = std::move(leases);
  return {};
}

void Exchange::extend_now(Round& round) {
  const auto results = queues_.extend(round.extensions);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i] && results[i].error().code() == Code::lease_lost)
      round.lost.push_back(round.extensions[i].token);
}

void Exchange::deliver(Round& round, Status status) {
  if (options_.log)
    for (const std::string& remark : round.remarks) options_.log(LogLevel::warning, remark);
  const bool news =
      !round.leases.empty() || !round.lost.empty() || !round.settlements.empty() || !status.ok();
  {
    const MutexLock lock(mutex_);
    std::ranges::move(round.leases, std::back_inserter(inbox_.leases));
    std::ranges::move(round.lost, std::back_inserter(inbox_.lost));
    for (Settlement& settlement : round.settlements) {
      inbox_.released += settlement.is_release() ? 1 : 0;
      if (status.ok() && !settlement.spare.empty())
        inbox_.spare.push_back(std::move(settlement.spare));
    }
    if (!status.ok()) inbox_.failure = std::move(status);
    claiming_.reset();
  }
  if (news) wake();
}

}  // namespace sluice::worker
