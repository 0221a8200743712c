// SPDX-License-Identifier: MIT
// A batch: three pictures are resized, and once all are done the album is published, once.
#include <sluice/queue.h>

#include <cstdio>
#include <string>

namespace kv = sluice::kv;
namespace queue = sluice::queue;

// Claims and acks everything there is to do.
sluice::Status work_off(queue::Queues& queues) {
  for (;;) {
    SLUICE_LET(leases, queues.claim({.queues = {"pictures", "albums"}, .worker = "batch"}));
    if (leases.empty()) return {};
    for (const queue::Lease& lease : leases) {
      std::printf("%s: %s\n", lease.queue.c_str(), lease.payload.c_str());
      SLUICE_TRY(queues.ack({.queue = lease.queue, .token = lease.token}));
    }
  }
}

sluice::Status work(const std::string& dir) {
  SLUICE_LET(store, kv::open_lmdb({.dir = dir}));
  SLUICE_LET(queues, queue::Queues::open(*store));

  // The callback is a job like any other, of any queue. It is enqueued by the last ack itself.
  SLUICE_TRY(queues->open_batch(
      {.queue = "pictures",
       .id = "album 7",
       .on_success = queue::NewJob{.queue = "albums", .payload = "publish album 7"}}));
  for (const char* picture : {"beach.jpg", "boat.jpg", "sunset.jpg"})
    SLUICE_TRY(queues->enqueue({.queue = "pictures", .payload = picture, .batch = "album 7"}));

  // An open batch never ends: more may come. Sealing says that this was all.
  SLUICE_TRY(queues->seal_batch({.queue = "pictures", .id = "album 7"}));
  SLUICE_TRY(work_off(*queues));

  SLUICE_LET(batch, queues->get_batch({.queue = "pictures", .id = "album 7"}));
  std::printf("%s: %d of %d done, %s\n", batch.id.c_str(), static_cast<int>(batch.done),
              static_cast<int>(batch.total), batch.succeeded() ? "succeeded" : "not yet");
  return {};
}

int main(int argc, char** argv) {
  const sluice::Status status = work(argc > 1 ? argv[1] : "batch.store");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return sluice::code_info(status.code()).exit_code;
}
