// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "http_load.h"
#include "http_parts.h"
#include "queue_load.h"

namespace sluice::bench {
namespace {

constexpr unsigned kJobs = 100;  // In a request.
constexpr unsigned kConnections = 8;

std::string batch_script(const std::string& payload) {
  return R"(
local jobs = {}
for i = 1, )" +
         std::to_string(kJobs) + R"( do jobs[i] = '{"payload":")" + payload + R"("}' end
local body = '{"jobs":[' .. table.concat(jobs, ",") .. ']}'
function request()
  return wrk.format("POST", "/v1/queues/work/jobs", {}, body)
end
)";
}

struct Round {
  Served sluiced;
  Work queue;
};

Result<Work> enqueue_batches(const std::string& dir, const std::string& payload,
                             std::uint64_t batches) {
  SLUICE_LET(shop, Shop::open(dir));
  const std::vector<queue::NewJob> jobs(kJobs, {.queue = kQueue, .payload = "\"" + payload + "\""});
  Work work;
  SLUICE_TRY(work.measure(batches * kJobs, [&]() -> Status {
    for (std::uint64_t i = 0; i < batches; ++i) SLUICE_TRY(enqueue_all(*shop.queues, jobs));
    return {};
  }));
  return work;
}

}  // namespace

Status measure_batches(const Part& part) {
  const std::string payload(kPayloadBytes, 'x');
  SLUICE_LET(sluiced, program_beside("sluiced"));
  std::vector<Round> rounds;
  for (int i = 0; i < 3; ++i) {
    SLUICE_LET(dir, make_dir(part.scratch, fmt::format("batches-{}", i)));
    SLUICE_LET(served, serve_load(dir,
                                  {sluiced, "--listen", "127.0.0.1:0", "--data", dir + "/data",
                                   "--log-level", "error"},
                                  {.script = batch_script(payload),
                                   .connections = kConnections,
                                   .seconds = part.quick ? 2U : 5U}));
    SLUICE_LET(queue, enqueue_batches(dir + "/queue", payload, part.quick ? 500 : 2'000));
    rounds.push_back({.sluiced = served, .queue = queue});
  }
  const auto ours = [](const Round& r) { return r.sluiced.per_second() * kJobs; };
  part.report.add(
      {.what = "POST /v1/queues/work/jobs, 100 jobs in a request, 8 connections: jobs/s",
       .ours = number(median_of(rounds, ours)),
       .peer = number(median_of(rounds, [](const Round& r) { return r.queue.per_second(); })) +
               " (the queue without HTTP, one thread)",
       .figure = median_of(rounds, [&](const Round& r) { return ours(r) / r.queue.per_second(); }),
       .bar = Bar{"batch_jobs", Bar::Kind::at_least, 0.6}});
  return {};
}

}  // namespace sluice::bench
