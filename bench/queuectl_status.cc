// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "queue_load.h"
#include "queuectl_parts.h"
#include "queuectl_tools.h"
#include "worker/command.h"
#include "worker/report.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kThreads = 4;
constexpr std::uint64_t kDrained = 200;
/// Has ready jobs, but no worker serves it.
constexpr const char* kOtherQueue = "other";

queue::NewJob command_job(const char* queue, bool hold) {
  return {.queue = queue, .payload = worker::encode({.text = "true", .cwd = "/tmp"}), .hold = hold};
}

// Batch by batch through the queue layer: as many as are left, enqueued, claimed and acked.
Status finish_from(queue::Queues& queues, std::atomic<std::uint64_t>& next, std::uint64_t count) {
  const std::string result = worker::to_text({.exit_code = 0, .wall = 1ms, .user = 1ms});
  const std::vector<queue::NewJob> jobs(queue::kBatchJobsMax, command_job(kDefaultQueue, false));
  while (next.fetch_add(jobs.size()) < count) {
    SLUICE_TRY(enqueue_all(queues, jobs));
    for (std::size_t left = jobs.size(); left > 0;) {
      SLUICE_LET(leases, queues.claim({.queues = {kDefaultQueue},
                                       .jobs_max = left,
                                       .lease = kLongLease,
                                       .worker = "bench"}));
      std::vector<queue::AckRequest> acks;
      for (const queue::Lease& lease : leases)
        acks.push_back({.queue = lease.queue, .token = lease.token, .result = result});
      for (const Status& status : queues.ack(acks)) SLUICE_TRY(status);
      left -= leases.size();
    }
  }
  return {};
}

/// 99 % are done. Of the rest half is held, so that a worker can be done with this queue; the other
/// half is ready in a queue that no worker serves.
Status make_large(const std::string& store, std::uint64_t rows) {
  SLUICE_LET(shop, Shop::open(store));
  queue::Queues& queues = *shop.queues;
  for (const char* name : {kDefaultQueue, kOtherQueue})
    SLUICE_TRY(queues.configure(name, {.done_retention = 24h * 30}));
  std::atomic<std::uint64_t> next{0};
  FirstFailure failure;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i)
      threads.emplace_back([&] { failure.note(finish_from(queues, next, rows / 100 * 99)); });
  }
  SLUICE_TRY(failure.get());
  return fill(queues, rows / 100, [](std::uint64_t number) {
    return number % 2 == 0 ? command_job(kDefaultQueue, true) : command_job(kOtherQueue, false);
  });
}

Status measure_look(const Part& part, const Tools& tools, const std::string& large,
                    const std::string& small, std::uint64_t rows) {
  std::vector<double> ours, peer;
  for (int i = 0; i < (part.quick ? 21 : 51); ++i) {
    SLUICE_LET(in_large, run_program(tools.queuectl(large, {"status"})));
    SLUICE_LET(in_small, run_program(tools.queuectl(small, {"status"})));
    ours.push_back(in_large.wall_seconds * 1000);
    peer.push_back(in_small.wall_seconds * 1000);
  }
  part.report.add({.what = fmt::format("`queuectl status`, {} jobs, 99 % finished: ms",
                                       number(static_cast<double>(rows))),
                   .ours = number(median(ours)),
                   .peer = number(median(peer)) + " (a store without jobs)",
                   .figure = median(ours),
                   .bar = Bar{"status_1m", Bar::Kind::at_most, 100}});
  return {};
}

Result<Cost> drain_some(const Tools& tools, const std::string& store, const std::string& list) {
  SLUICE_TRY(tools.enqueue_list(store, list));
  return run_program(
      tools.queuectl(store, {"worker", "start", "--count", "2", "--drain", "--quiet"}));
}

// The jobs are a static program that ends at once, so that they hide little of the worker's cost.
Status measure_claims(const Part& part, const Tools& tools, const std::string& large,
                      const std::string& small) {
  SLUICE_LET(list,
             tools.make_list("jobs", kDrained, fmt::format(R"({{"argv":["{}"]}})", tools.bare())));
  struct Round {
    Cost large, small;
  };
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 5 : 9); ++i) {
    SLUICE_LET(in_large, drain_some(tools, large, list));
    SLUICE_LET(in_small, drain_some(tools, small, list));
    rounds.push_back({in_large, in_small});
  }
  const auto ms = [&](Cost Round::* who) {
    return number(median_of(rounds, [&](const Round& r) {
      return (r.*who).cpu_seconds * 1000 / static_cast<double>(kDrained);
    }));
  };
  part.report.add(
      {.what = fmt::format("  draining {} jobs beside them: CPU ms per job", kDrained),
       .ours = ms(&Round::large),
       .peer = ms(&Round::small) + " (in a store without others)",
       .figure = median_of(
           rounds, [](const Round& r) { return r.large.cpu_seconds / r.small.cpu_seconds; }),
       .bar = Bar{"claim_1m", Bar::Kind::at_most, 1.2}});
  return {};
}

}  // namespace

Status measure_status(const Part& part) {
  const std::uint64_t rows = part.quick ? 100'000 : 1'000'000;
  SLUICE_LET(tools, Tools::find(part.scratch, "status"));
  SLUICE_LET(large, tools.make_dir("large"));
  SLUICE_LET(small, tools.make_dir("small"));
  SLUICE_TRY(make_large(large, rows));
  SLUICE_TRY(measure_look(part, tools, large, small, rows));
  return measure_claims(part, tools, large, small);
}

}  // namespace sluice::bench
