// SPDX-License-Identifier: MIT
#include "kv/fault_store.h"

#include "kv/memory/memory_store.h"

namespace sluice::kv {

FaultStore::FaultStore(MemoryOptions options, Random& random)
    : memory_(std::make_unique<MemoryStore>(std::move(options))), random_(random) {
  const MutexLock lock(mutex_);
  synced_ = memory_->versions().pin();
}

FaultStore::~FaultStore() {
  sync();
}

void FaultStore::set_chance(Fault fault, double probability) {
  const MutexLock lock(mutex_);
  chances_[static_cast<std::size_t>(fault)] = probability;
}

void FaultStore::clear_chances() {
  const MutexLock lock(mutex_);
  chances_ = {};
}

std::uint64_t FaultStore::count(Fault fault) const {
  const MutexLock lock(mutex_);
  return counts_[static_cast<std::size_t>(fault)];
}

bool FaultStore::strikes(Fault fault) {
  const MutexLock lock(mutex_);
  const auto index = static_cast<std::size_t>(fault);
  if (chances_[index] <= 0 || !random_.chance(chances_[index])) return false;
  ++counts_[index];
  return true;
}

Status FaultStore::usable() const {
  const MutexLock lock(mutex_);
  return down_;
}

void FaultStore::go_down(Status status) {
  const MutexLock lock(mutex_);
  down_ = std::move(status);
}

bool FaultStore::down() const {
  return !usable().ok();
}

void FaultStore::reopen() {
  const MutexLock lock(mutex_);
  memory_->versions().rewind(synced_);
  unsynced_.clear();
  down_ = {};
}

void FaultStore::hold_syncs(bool hold) {
  const MutexLock lock(mutex_);
  hold_syncs_ = hold;
}

void FaultStore::sync() {
  std::vector<std::pair<Done, Result<Commit>>> finished;
  {
    const MutexLock lock(mutex_);
    memory_->versions().unpin(synced_);
    synced_ = memory_->versions().pin();
    finished.swap(unsynced_);
  }
  for (auto& [done, result] : finished) done(std::move(result));
}

void FaultStore::crash() {
  const MutexLock lock(mutex_);
  memory_->versions().rewind(synced_);
  unsynced_.clear();
  down_ = {Code::unavailable, "the process that held this store has crashed"};
}

// The body runs, and nothing of it stays.
Status FaultStore::run_undone(const Body& body, const WriteOptions& options) {
  Status outcome;
  const Status undone(Code::cancelled, "undone on purpose");
  (void)memory_->run(
      [&](Transaction& txn) {
        outcome = body(txn);
        return undone;
      },
      options);
  return outcome;
}

Result<Commit> FaultStore::run_unsynced(const Body& body, const WriteOptions& options,
                                        bool top_level) {
  if (options.write_class == WriteClass::grow && strikes(Fault::full))
    return error(Code::storage_full, "full on purpose");
  if (strikes(Fault::conflict)) SLUICE_TRY(run_undone(body, options));
  if (strikes(Fault::io_error)) {
    SLUICE_TRY(run_undone(body, options));
    go_down({Code::io_error, "failed on purpose; reopen the store"});
    return Failure{usable()};
  }
  if (strikes(Fault::unknown_lost)) {
    SLUICE_TRY(run_undone(body, options));
    return error(Code::commit_unknown, "lost on purpose");
  }
  SLUICE_LET(commit, memory_->run(body, options));
  if (top_level && strikes(Fault::crash_lost)) {
    crash();
    return error(Code::commit_unknown, "crashed on purpose before the sync");
  }
  if (top_level && strikes(Fault::crash_applied)) {
    sync();
    crash();
    return error(Code::commit_unknown, "crashed on purpose after the sync");
  }
  return commit;
}

Result<Commit> FaultStore::do_run(const Body& body, const WriteOptions& options) {
  SLUICE_TRY(usable());
  bool top_level = false;
  {
    const MutexLock lock(mutex_);
    top_level = running_++ == 0;
  }
  auto result = run_unsynced(body, options, top_level);
  {
    const MutexLock lock(mutex_);
    --running_;
  }
  if (result) {
    sync();
    if (strikes(Fault::unknown_applied))
      return error(Code::commit_unknown, "applied, but unknown on purpose");
  }
  return result;
}

void FaultStore::do_submit(Body body, Done done, const WriteOptions& options) {
  bool hold = false;
  {
    const MutexLock lock(mutex_);
    hold = hold_syncs_ && down_.ok();
  }
  if (!hold) return done(do_run(body, options));
  auto result = run_unsynced(body, options, true);
  if (!result) return done(std::move(result));
  const MutexLock lock(mutex_);
  unsynced_.emplace_back(std::move(done), std::move(result));
}

Status FaultStore::do_read(const ReadBody& body, const ReadOptions& options) {
  SLUICE_TRY(usable());
  return memory_->read(body, options);
}

BellTicket FaultStore::do_listen(std::string_view bell) const {
  return memory_->listen(bell);
}

Wake FaultStore::do_wait(const BellTicket& ticket, const WaitOptions& options) const {
  return memory_->wait(ticket, options);
}

// A crash leaves the memory store, and so its time, as it is: a reopened store never goes back.
WallTime FaultStore::do_now() const {
  return memory_->now();
}

Result<std::uint16_t> FaultStore::do_raise_epoch() {
  SLUICE_TRY(usable());
  return memory_->raise_epoch();
}

Status FaultStore::do_copy_to(const std::string& dir) {
  SLUICE_TRY(usable());
  return memory_->copy_to(dir);
}

Stats FaultStore::stats() const {
  return memory_->stats();
}

}  // namespace sluice::kv
