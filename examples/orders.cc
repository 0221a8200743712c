// SPDX-License-Identifier: MIT
// Orders and the mails about them: what belongs together commits together.
#include <sluice/queue.h>

#include <cstdio>
#include <string>

using sluice::Status;
namespace kv = sluice::kv;
namespace queue = sluice::queue;

// The order and its job, or neither: a job that is refused takes the order with it.
Status place(queue::Queues& queues, const std::string& order) {
  return sluice::status_of(queues.store().run([&](kv::Transaction& txn) -> Status {
    queue::Scope jobs(queues, txn);
    txn.put("order/" + order, "placed");
    return sluice::status_of(jobs.enqueue({.queue = "mail", .id = order}));
  }));
}

// The ack and the mark, or neither: a worker whose lease is over marks nothing.
Status finish(queue::Queues& queues, const queue::Lease& lease) {
  const kv::WriteOptions drain = {.write_class = kv::WriteClass::drain};  // Also when it is full.
  return sluice::status_of(queues.store().run(
      [&](kv::Transaction& txn) -> Status {
        queue::Scope jobs(queues, txn);
        SLUICE_TRY(jobs.ack({.queue = lease.queue, .token = lease.token}));
        txn.put("order/" + lease.id, "mailed");
        return {};
      },
      drain));
}

Status work(const std::string& dir) {
  SLUICE_LET(store, kv::open_lmdb({.dir = dir}));
  SLUICE_LET(queues, queue::Queues::open(*store));
  SLUICE_TRY(queues->configure("mail", {.backlog_max = 2}));
  for (const char* order : {"17", "18", "19"})
    std::printf("place %s: %s\n", order, code_name(place(*queues, order).code()));

  SLUICE_LET(leases, queues->claim({.queues = {"mail"}, .worker = "mailer"}));
  for (const queue::Lease& lease : leases) {
    std::printf("finish %s: %s\n", lease.id.c_str(), code_name(finish(*queues, lease).code()));
    std::printf("and again: %s\n", code_name(finish(*queues, lease).code()));
  }
  return store->read([](kv::Reader& reader) -> Status {
    SLUICE_LET(orders, reader.scan(kv::Range::prefix("order/")));
    for (const auto& [key, value] : orders) std::printf("%s %s\n", key.c_str(), value.c_str());
    return {};
  });
}

int main(int argc, char** argv) {
  const Status status = work(argc > 1 ? argv[1] : "orders.store");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return sluice::code_info(status.code()).exit_code;
}
