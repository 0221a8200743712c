// SPDX-License-Identifier: MIT
// Queues::claim: waiting for the first job.
#include <algorithm>

#include "queue/access.h"
#include "queue/checks.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

// Never less than this, so that a clock that lags behind the store's does not spin.
constexpr Duration kPauseMin = std::chrono::milliseconds(1);

std::string bell_of(const ClaimRequest& request) {
  if (request.queues.size() == 1) return queue_bell(hash_of(request.queues[0]));
  return std::string(kAnyQueueBell);
}

/// A claim with an operation id has a transaction to itself, which holds that operation's record.
Result<Claimed> claim_alone(Queues& queues, const ClaimRequest& request, bool& replayed) {
  Claimed claimed;
  auto commit = queues.store().run(
      [&](kv::Transaction& txn) -> Status {
        Scope scope(queues, txn);
        SLUICE_LET(outcome, scope.claim(request));
        claimed = std::move(outcome);
        replayed = QueuesAccess::replayed(scope);
        return QueuesAccess::finish(scope);
      },
      kDrain);
  if (!commit) return Failure{commit.error()};
  return claimed;
}

}  // namespace

Result<std::vector<Lease>> Queues::claim(const ClaimRequest& request) {
  SLUICE_TRY(check_claim(request));
  SLUICE_TRY(check_name_or_empty("operation id", request.operation));
  const WallTime started = store_.now();
  const std::string bell = bell_of(request);
  for (;;) {
    const kv::BellTicket ticket = store_.listen(bell);
    bool replayed = false;
    if (request.stop.stop_requested()) return std::vector<Lease>();
    SLUICE_LET(claimed, request.operation.empty() ? inside_->desk.claim(request)
                                                  : claim_alone(*this, request, replayed));
    if (replayed || !claimed.leases.empty()) return std::move(claimed.leases);
    if (claimed.moved) continue;
    const WallTime now = store_.now();
    const Duration waited = now - started;
    if (waited >= request.wait) return std::vector<Lease>();
    Duration pause = request.wait - waited;
    if (claimed.next) pause = std::min(pause, std::max(*claimed.next - now, kPauseMin));
    const auto woken = store_.wait(ticket, {.timeout = pause, .stop = request.stop});
    if (woken == kv::Wake::stopped) return std::vector<Lease>();
  }
}

}  // namespace sluice::queue
