// SPDX-License-Identifier: MIT
#include "flows_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::bench {

void WatchedStore::watch(std::function<std::uint64_t()> steps) {
  largest_ = {};
  steps_before_ = steps();
  bytes_before_ = inner_->stats().bytes_written;
  steps_ = std::move(steps);
}

Largest WatchedStore::stop_watching() {
  steps_ = nullptr;
  return largest_;
}

void WatchedStore::note() {
  if (!steps_) return;
  const std::uint64_t steps = steps_();
  const std::uint64_t bytes = inner_->stats().bytes_written;
  const auto [low, high] = std::minmax(steps, steps_before_);
  largest_.steps = std::max(largest_.steps, high - low);
  largest_.bytes = std::max(largest_.bytes, bytes - bytes_before_);
  steps_before_ = steps;
  bytes_before_ = bytes;
}

Result<kv::Commit> WatchedStore::do_run(const kv::Body& body, const kv::WriteOptions& options) {
  auto commit = inner_->run(body, options);
  note();
  return commit;
}

void WatchedStore::do_submit(kv::Body body, kv::Done done, const kv::WriteOptions& options) {
  inner_->submit(std::move(body), std::move(done), options);
}

Status WatchedStore::do_read(const kv::ReadBody& body, const kv::ReadOptions& options) {
  return inner_->read(body, options);
}

kv::BellTicket WatchedStore::do_listen(std::string_view bell) const {
  return inner_->listen(bell);
}

kv::Wake WatchedStore::do_wait(const kv::BellTicket& ticket, const kv::WaitOptions& options) const {
  return inner_->wait(ticket, options);
}

Result<WatchedShop> WatchedShop::open(const std::string& dir, const Clock& clock) {
  SLUICE_LET(inner, kv::open_lmdb({.dir = dir, .clock = &clock}));
  auto store = std::make_unique<WatchedStore>(std::move(inner));
  SLUICE_LET(queues, queue::Queues::open(*store));
  return WatchedShop{.store = std::move(store), .queues = std::move(queues)};
}

Result<Largest> WatchedShop::watch_lane(queue::Lane lane,
                                        const std::function<Status()>& work) const {
  store->watch([this, lane]() -> std::uint64_t {
    const auto counts = queues->count(kQueue);
    return counts ? counts->of(lane) : 0;
  });
  const Status status = work();
  const Largest largest = store->stop_watching();
  SLUICE_TRY(status);
  return largest;
}

std::string size_of(const Largest& largest) {
  return fmt::format("{} ({} KiB)", largest.steps, largest.bytes / 1024);
}

}  // namespace sluice::bench
