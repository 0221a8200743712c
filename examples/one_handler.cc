// SPDX-License-Identifier: MIT
// One handler, first on a pool in memory, then on the durable queue: what changes is where its jobs
// come from and where its answer goes.
#include <sluice/queue.h>
#include <sluice/runtime.h>

#include <iostream>
#include <string>

using namespace std::chrono_literals;
using namespace sluice;
using runtime::Outcome;
using runtime::Work;

// Greets people, and fails once for each that it does not know.
Outcome greet(const Work<>& work) {
  std::cout << "attempt " << work.attempt << ": hello, " << work.payload << "\n";
  return work.payload == "stranger" && work.attempt == 1 ? Outcome::retry("who is that?", 1ms)
                                                         : Outcome::done();
}

void in_memory() {
  runtime::ThreadExecutor threads;
  runtime::Pool<> pool(threads, {}, greet);
  (void)pool.enqueue({.id = "1", .payload = "stranger"});
  while (pool.counts().done < 1) system_clock().sleep_for(1ms, {});
}

// What a durable queue does with the same answers.
Status settle(queue::Queues& queues, const queue::Lease& lease, const Outcome& outcome) {
  if (outcome.kind() == Outcome::Kind::done)
    return queues.ack({.queue = lease.queue, .token = lease.token});
  return status_of(queues.fail({.queue = lease.queue,
                                .token = lease.token,
                                .error = outcome.why(),
                                .delay = outcome.after(),
                                .dead = outcome.kind() == Outcome::Kind::fail}));
}

Status durable(const std::string& dir) {
  SLUICE_LET(store, kv::open_lmdb({.dir = dir}));
  SLUICE_LET(queues, queue::Queues::open(*store));
  SLUICE_TRY(queues->enqueue({.queue = "guests", .id = "1", .payload = "stranger"}));
  for (int attempts = 0; attempts < 2; ++attempts) {
    SLUICE_LET(leases, queues->claim({.queues = {"guests"}, .wait = 5s}));
    for (const queue::Lease& lease : leases)
      SLUICE_TRY(
          settle(*queues, lease,
                 greet({.id = lease.id, .payload = lease.payload, .attempt = lease.attempt})));
  }
  return {};
}

int main(int, char** argv) {
  in_memory();
  const Status status = durable(argv[1]);
  std::cout << "durable: " << status.to_string() << "\n";
  return status.ok() ? 0 : 1;
}
