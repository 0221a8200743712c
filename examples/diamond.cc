// SPDX-License-Identifier: MIT
// A diamond of dependencies: fetch, then two that need it, then one that needs both.
#include <sluice/queue.h>

#include <cstdio>
#include <string>
#include <vector>

namespace kv = sluice::kv;
namespace queue = sluice::queue;

sluice::Status work(const std::string& dir) {
  SLUICE_LET(store, kv::open_lmdb({.dir = dir}));
  SLUICE_LET(queues, queue::Queues::open(*store));

  // A job names those that it waits for; they come first, also within one call.
  const std::vector<queue::NewJob> jobs = {
      {.queue = "report", .id = "fetch"},
      {.queue = "report", .id = "charts", .after = {{.id = "fetch"}}},
      {.queue = "report", .id = "tables", .after = {{.id = "fetch"}}},
      {.queue = "report", .id = "print", .after = {{.id = "charts"}, {.id = "tables"}}},
  };
  for (const auto& id : queues->enqueue(jobs, {.all_or_none = true})) SLUICE_TRY(id);

  SLUICE_LET(why, queues->explain({.queue = "report", .id = "print"}));
  for (const std::string& reason : why.reasons) std::printf("print: %s\n", reason.c_str());

  // Each round shows what may run at the same time.
  for (;;) {
    SLUICE_LET(leases, queues->claim({.queues = {"report"}, .jobs_max = 10, .worker = "diamond"}));
    if (leases.empty()) break;
    std::printf("claimed:");
    for (const queue::Lease& lease : leases) std::printf(" %s", lease.id.c_str());
    std::printf("\n");
    for (const queue::Lease& lease : leases)
      SLUICE_TRY(queues->ack({.queue = lease.queue, .token = lease.token}));
  }
  return {};
}

int main(int argc, char** argv) {
  const sluice::Status status = work(argc > 1 ? argv[1] : "diamond.store");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return sluice::code_info(status.code()).exit_code;
}
