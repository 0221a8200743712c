// SPDX-License-Identifier: MIT
// The roles that carry on with what one move has caused: whoever is killed is followed by another
// that knows nothing but the store.
#include <chrono>
#include <cstdlib>
#include <vector>

#include "tests/queue/crash/actor/actor.h"
#include "tests/queue/crash/flow_plan.h"
#include "tests/queue/crash/stepped_clock.h"

namespace sluice::test {
namespace {

using std::chrono::hours;

// Whatever there is to do takes far fewer turns. A batch may have to wait for the next full second.
constexpr int kTurnsMax = 3'000;
constexpr int kBatchTurnsMax = 100'000;

// Some more of what is on the agenda: by a sweep of any size, or by a claim, which must find
// nothing to hand out.
void carry_on(queue::Queues& queues, const char* queue, Random& random) {
  if (random.chance(0.7)) {
    must(status_of(queues.sweep(1 + random.below(4'000))), "sweep");
    return;
  }
  const auto leases = queues.claim({.queues = {queue}, .jobs_max = 10});
  must(status_of(leases), "claim");
  if (!leases->empty()) must(error(Code::corrupt, leases->front().id), "get nothing by a claim");
}

// What a killed process had is not worked on by anybody.
void free_leased(queue::Queues& queues, const char* queue) {
  for (;;) {
    const auto page = queues.list({.queue = queue, .lane = queue::Lane::leased, .limit = 1'000});
    must(status_of(page), "list what is leased");
    if (page->jobs.empty()) return;
    std::vector<queue::JobRef> refs;
    for (const queue::Job& job : page->jobs) refs.push_back({.queue = queue, .id = job.id});
    for (const Status& status : queues.break_lease(refs)) must(status, "break a lease");
  }
}

queue::Batch the_batch(queue::Queues& queues) {
  const auto batch = queues.get_batch({.queue = kMemberQueue, .id = kBatchId});
  must(status_of(batch), "get the batch");
  return *batch;
}

std::uint64_t waiting_in(queue::Queues& queues, const char* queue) {
  const auto counts = queues.count(queue);
  must(status_of(counts), "count");
  return counts->waiting;
}

}  // namespace

int run_release(const Words& words) {
  SeededRandom random(words.number(1));
  const Opened opened = open_or_exit(words.text(0));
  queue::Queues& queues = *opened.queues;
  say("going");
  free_leased(queues, kFirstQueue);
  const auto first = queues.claim({.queues = {kFirstQueue}, .lease = hours(1)});
  must(status_of(first), "claim");
  for (const queue::Lease& lease : *first)
    must(queues.ack({.queue = kFirstQueue, .token = lease.token}), "ack");
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    if (waiting_in(queues, kLeftQueue) + waiting_in(queues, kRightQueue) == 0) return 0;
    carry_on(queues, kFirstQueue, random);
  }
  return 1;
}

int run_members(const Words& words) {
  SeededRandom random(words.number(1));
  const Opened opened = open_or_exit(words.text(0));
  queue::Queues& queues = *opened.queues;
  say("going");
  free_leased(queues, kMemberQueue);
  for (int turn = 0; turn < kBatchTurnsMax; ++turn) {
    const queue::Batch batch = the_batch(queues);
    if (batch.ended) return 0;
    // At any time in its second half.
    if (!batch.sealed && batch.pending() <= random.below(batch.total / 2))
      must(queues.seal_batch({.queue = kMemberQueue, .id = kBatchId}), "seal");
    const auto leases =
        queues.claim({.queues = {kMemberQueue}, .jobs_max = 1'000, .lease = hours(1)});
    must(status_of(leases), "claim");
    if (leases->empty()) {
      must(status_of(queues.sweep()), "sweep");
      continue;
    }
    std::vector<queue::AckRequest> acks;
    for (const queue::Lease& lease : *leases)
      acks.push_back({.queue = kMemberQueue, .token = lease.token});
    for (const Status& status : queues.ack(acks)) must(status, "ack");
    say("acked " + std::to_string(acks.size()));
  }
  return 1;
}

int run_drop(const Words& words) {
  SeededRandom random(words.number(1));
  const Opened opened = open_or_exit(words.text(0));
  queue::Queues& queues = *opened.queues;
  say("going");
  if (!the_batch(queues).ended)
    must(queues.cancel_batch({.queue = kMemberQueue, .id = kBatchId}), "cancel");
  for (int turn = 0; turn < kBatchTurnsMax; ++turn) {
    if (the_batch(queues).ended) return 0;
    carry_on(queues, kMemberQueue, random);
  }
  return 1;
}

int run_fire(const Words& words) {
  const SteppedClock clock(words.text(1));
  const Opened opened = open_or_exit(words.text(0), clock);
  say("going");
  for (;;) {
    const auto swept = opened.queues->sweep();
    // A suspend in the middle of a transaction makes it a long one.
    if (status_of(swept).code() == Code::deadline_exceeded) continue;
    must(status_of(swept), "sweep");
    for (std::uint64_t i = 0; i < swept->fired; ++i) say("fired");
  }
}

}  // namespace sluice::test
