// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/kv.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/mutex.h"
#include "kv/bells.h"
#include "kv/lmdb/environment.h"
#include "kv/lmdb/group_commit.h"
#include "kv/lmdb/residence.h"
#include "kv/lmdb/shared_file.h"
#include "kv/lmdb/space.h"
#include "kv/overlay.h"

namespace sluice::kv {

/// The engine behind open_lmdb().
///
/// Purpose: durable, shared by processes. Concurrency: one writing batch at a time over all
/// processes (LMDB's write lock); within a process the bodies of a batch run one after another,
/// each on a private overlay over what the earlier ones wrote, so they are serializable, and one
/// that fails leaves nothing. Readers run beside that on snapshots.
///
/// The stamp of a body is LMDB's transaction number (8 bytes) and the body's place in the batch
/// (2).
class LmdbStore final : public Store {
 public:
  static Result<std::unique_ptr<LmdbStore>> open(LmdbOptions options);
  ~LmdbStore() override;

  Stats stats() const override;

 private:
  struct Batch;

  LmdbStore(LmdbOptions options, std::unique_ptr<SharedFile> shared,
            std::unique_ptr<Environment> environment);

  Result<Commit> do_run(const Body& body, const WriteOptions& options) override;
  void do_submit(Body body, Done done, const WriteOptions& options) override;
  Status do_read(const ReadBody& body, const ReadOptions& options) override;
  BellTicket do_listen(std::string_view bell) const override { return bells_.listen(bell); }
  Wake do_wait(const BellTicket& ticket, const WaitOptions& options) const override {
    return bells_.wait(ticket, options);
  }
  WallTime do_now() const override { return shared_->now(); }
  Result<std::uint16_t> do_raise_epoch() override;
  Status do_copy_to(const std::string& dir) override;

  void commit_batch();
  void commit_singly(const std::vector<Request*>& requests);
  Status begin(Batch& batch);
  Status know_file(Batch& batch, StoreHeader& header);
  Status run_into(Batch& batch, Request& request);
  Status make_room(Batch& batch, WriteClass write_class);
  enum class Outcome : std::uint8_t { committed, aborted, failed };
  Outcome commit(Batch& batch);
  Outcome commit_failed(Batch& batch, int rc);
  void refuse(const std::vector<Request*>& requests, const Status& status);
  void tell(Batch& batch) const;
  Status full(std::string_view how) const;
  void poison(const Status& status);
  Status poisoned() const;
  bool meta_write_failed() const;
  void clear_stale_readers_now_and_then();
  Result<TxnPtr> begin_read() const;

  // A batch of some hundred jobs.
  static constexpr std::size_t kOverlayBytes = std::size_t{512} * 1024;

  const LmdbOptions options_;
  // Opened first and closed last: compact_lmdb() takes its lock for a sign that nobody has the data
  // file open.
  const std::unique_ptr<SharedFile> shared_;
  const std::unique_ptr<Environment> environment_;
  const Bells bells_;
  const std::uint64_t reserve_bytes_;
  const Residence residence_;

  mutable Mutex mutex_;
  Status poison_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<bool> is_poisoned_{false};
  mutable std::vector<TxnPtr> idle_readers_ SLUICE_GUARDED_BY(mutex_);

  // Only the leader of a batch touches these.
  Overlay overlay_{kOverlayBytes};
  MonoTime readers_checked_;
  bool file_known_ = false;  // See know_file().

  std::atomic<std::uint32_t> reads_{0};
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> refused_full_{0};
  std::atomic<std::uint64_t> bytes_written_{0};
  Histogram batch_size_;
  Histogram commit_ns_;
  Histogram lock_wait_ns_;

  GroupCommit group_;  // Last: its destructor completes requests, which use all of the above.
};

}  // namespace sluice::kv
