// SPDX-License-Identifier: MIT
// A durable queue inside a program of its own. docs/guide/embedding.md builds it from outside.
#include <sluice/queue.h>

#include <cstdio>
#include <string>

namespace kv = sluice::kv;
namespace queue = sluice::queue;

sluice::Status work(const std::string& dir) {
  SLUICE_LET(store, kv::open_lmdb({.dir = dir}));
  SLUICE_LET(queues, queue::Queues::open(*store));

  // Each job is on the disk when enqueue() returns.
  SLUICE_TRY(queues->enqueue({.queue = "mail", .payload = "newsletter", .priority = 9}));
  SLUICE_TRY(queues->enqueue({.queue = "mail", .payload = "receipt"}));
  SLUICE_TRY(queues->enqueue({.queue = "mail", .payload = "password reset", .priority = 0}));

  for (;;) {
    SLUICE_LET(leases, queues->claim({.queues = {"mail"}, .worker = "embed"}));
    if (leases.empty()) break;
    for (const queue::Lease& lease : leases) {
      std::printf("priority %d: %s\n", lease.priority, lease.payload.c_str());
      SLUICE_TRY(queues->ack({.queue = lease.queue, .token = lease.token}));
    }
  }
  SLUICE_LET(counts, queues->count("mail"));
  std::printf("jobs left: %d\n", static_cast<int>(counts.total()));
  return {};
}

int main(int argc, char** argv) {
  const sluice::Status status = work(argc > 1 ? argv[1] : "embed.store");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return sluice::code_info(status.code()).exit_code;
}
