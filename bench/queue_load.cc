// SPDX-License-Identifier: MIT
#include "queue_load.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>

namespace sluice::bench {
namespace {

constexpr unsigned kFillers = 4;

std::string payload() {
  std::string bytes(kPayloadBytes, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 151 >> 1);
  return bytes;
}

Status fill_from(queue::Queues& queues, std::atomic<std::uint64_t>& next, std::uint64_t count,
                 const MakeJob& make) {
  std::vector<queue::NewJob> jobs;
  for (;;) {
    const std::uint64_t begin = next.fetch_add(queue::kBatchJobsMax);
    const std::uint64_t end = std::min(begin + queue::kBatchJobsMax, count);
    if (begin >= end) return {};
    jobs.clear();
    for (std::uint64_t number = begin; number < end; ++number) jobs.push_back(make(number));
    SLUICE_TRY(enqueue_all(queues, jobs));
  }
}

}  // namespace

Result<Shop> Shop::open(const std::string& dir) {
  SLUICE_LET(store, kv::open_lmdb({.dir = dir}));
  SLUICE_LET(queues, queue::Queues::open(*store));
  return Shop{.store = std::move(store), .queues = std::move(queues)};
}

queue::NewJob plain_job() {
  return {.queue = kQueue, .payload = payload()};
}

std::vector<queue::NewJob> plain_batch() {
  return std::vector<queue::NewJob>(kBatch, plain_job());
}

Status enqueue_all(queue::Queues& queues, std::span<const queue::NewJob> jobs) {
  for (const auto& id : queues.enqueue(jobs)) SLUICE_TRY(id);
  return {};
}

Result<std::vector<queue::Lease>> claim_all(queue::Queues& queues, std::size_t count) {
  std::vector<queue::Lease> leases;
  while (leases.size() < count) {
    SLUICE_LET(more,
               queues.claim({.queues = {kQueue},
                             .jobs_max = std::min(count - leases.size(), queue::kClaimJobsMax),
                             .lease = kLongLease,
                             .worker = "bench"}));
    if (more.empty()) return error(Code::not_found, "the queue has fewer jobs than expected");
    if (leases.empty())
      leases = std::move(more);
    else
      std::move(more.begin(), more.end(), std::back_inserter(leases));
  }
  return leases;
}

Status ack_all(queue::Queues& queues, const std::vector<queue::Lease>& leases) {
  std::vector<queue::AckRequest> requests;
  requests.reserve(leases.size());
  for (const queue::Lease& lease : leases)
    requests.push_back({.queue = lease.queue, .token = lease.token});
  for (const Status& status : queues.ack(requests)) SLUICE_TRY(status);
  return {};
}

Status fill(queue::Queues& queues, std::uint64_t count, const MakeJob& make) {
  std::atomic<std::uint64_t> next{0};
  FirstFailure failure;
  {
    std::vector<std::jthread> fillers;
    for (unsigned i = 0; i < kFillers; ++i)
      fillers.emplace_back([&] { failure.note(fill_from(queues, next, count, make)); });
  }
  return failure.get();
}

Result<Work> turn_over(queue::Queues& queues, const MakeBatch& make, std::uint64_t batches) {
  Work work;
  for (std::uint64_t i = 0; i < batches; ++i) {
    const auto jobs = make();
    SLUICE_TRY(enqueue_all(queues, jobs));
    SLUICE_TRY(work.measure(jobs.size(), [&]() -> Status {
      SLUICE_LET(leases, claim_all(queues, jobs.size()));
      return ack_all(queues, leases);
    }));
  }
  return work;
}

}  // namespace sluice::bench
