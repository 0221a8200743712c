// SPDX-License-Identifier: MIT
#include "kv/lmdb/lmdb_store.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kv/engine.h"
#include "kv/lmdb/copy_target.h"
#include "kv/lmdb/free_runs.h"
#include "kv/lmdb/lmdb_view.h"

namespace sluice::kv {
namespace {

constexpr Duration kReaderCheckPeriod = std::chrono::seconds(10);
// A batch that has written this much takes no more bodies.
constexpr std::uint64_t kBatchBytesMax = 16 << 20;

std::uint64_t reserve_for(const LmdbOptions& options, std::uint64_t map_bytes) {
  constexpr std::uint64_t kMin = 512 << 10;
  constexpr std::uint64_t kMax = 256 << 20;
  if (options.reserve_bytes != 0) return options.reserve_bytes;
  return std::clamp(map_bytes / 32, kMin, kMax);
}

Stamp stamp_of(std::uint64_t transaction, std::size_t place) {
  Stamp stamp;
  for (std::size_t i = 0; i < 8; ++i)
    stamp.bytes[i] = static_cast<std::uint8_t>(transaction >> (8 * (7 - i)));
  stamp.bytes[8] = static_cast<std::uint8_t>(place >> 8);
  stamp.bytes[9] = static_cast<std::uint8_t>(place);
  return stamp;
}
static_assert(GroupCommit::kBatchMax <= UINT16_MAX, "a body's place has two bytes in its stamp");

// Due dates are compared with store time, so a large difference surprises whoever reads a calendar.
void warn_of_wrong_date(const LmdbOptions& options, WallTime store_time) {
  constexpr Duration kTolerated = std::chrono::minutes(1);
  const Duration ahead = store_time - options.clock->wall();
  if (!options.log || std::chrono::abs(ahead) <= kTolerated) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::abs(ahead));
  options.log(LogLevel::warning,
              "the time of the store in " + options.dir + " is " + std::to_string(seconds.count()) +
                  " s " +
                  (ahead > Duration::zero() ? "ahead of the wall clock, and it never runs backwards"
                                            : "behind the wall clock: close it in all processes to "
                                              "set it anew") +
                  "; see \"Time\" in docs/operations/store.md");
}

// Whether the disk has no room for another megabyte.
bool disk_is_full(const std::string& dir) {
  struct statvfs info{};
  return statvfs(dir.c_str(), &info) == 0 && info.f_bavail * info.f_frsize < (1 << 20);
}

}  // namespace

// One LMDB transaction and the requests that share it.
struct LmdbStore::Batch {
  // LMDB frees a writer's cursors with its transaction, so the sink must go first.
  MDB_txn* end_writing() {
    sink.reset();
    return txn.release();
  }
  void abort() { mdb_txn_abort(end_writing()); }
  // The transaction did not happen, as far as anybody knows.
  void untell() {
    bells.clear();
    told.clear();
  }

  TxnPtr txn;
  std::uint16_t epoch = 0;
  std::vector<Request*> requests;
  std::vector<std::string> bells;
  std::vector<std::function<void()>> told;  // See Transaction::after_commit().
  std::optional<Space> space;
  std::optional<LmdbSink> sink;
  std::uint64_t bytes = 0;
  std::size_t writers = 0;  // Requests that wrote something.
  bool knows_file = false;  // The header was written: see know_file().
};

LmdbStore::LmdbStore(LmdbOptions options, std::unique_ptr<SharedFile> shared,
                     std::unique_ptr<Environment> environment)
    : options_(std::move(options)),
      shared_(std::move(shared)),
      environment_(std::move(environment)),
      bells_(shared_->bell_words(), [this] { return environment_->info().me_last_txnid; }),
      reserve_bytes_(reserve_for(options_, environment_->info().me_mapsize)),
      residence_(*environment_, options_.resident_bytes_max),
      readers_checked_(options_.clock->mono()),
      group_([this] { commit_batch(); }) {}

LmdbStore::~LmdbStore() = default;

Result<std::unique_ptr<LmdbStore>> LmdbStore::open(LmdbOptions options) {
  SLUICE_TRY(prepare_directory(options));
  SLUICE_LET(shared, SharedFile::open(options.dir, *options.clock));
  SLUICE_LET(environment, Environment::open(options));
  warn_of_wrong_date(options, shared->now());
  return std::unique_ptr<LmdbStore>(
      new LmdbStore(std::move(options), std::move(shared), std::move(environment)));
}

Result<Commit> LmdbStore::do_run(const Body& body, const WriteOptions& options) {
  return group_.run(body, options);
}

void LmdbStore::do_submit(Body body, Done done, const WriteOptions& options) {
  group_.submit(std::move(body), std::move(done), options);
}

// ------------------------------------------------------------------------------ the leader's work

void LmdbStore::commit_batch() {
  Batch batch;
  const Status begun = begin(batch);
  Status applied;
  const auto taken = [&] {
    return batch.bytes < kBatchBytesMax ? batch.requests.size() : GroupCommit::kBatchMax;
  };
  while (Request* request = group_.take(taken())) {
    batch.requests.push_back(request);
    if (begun.ok()) applied = run_into(batch, *request);
    if (!applied.ok()) break;
  }
  if (!begun.ok()) {
    refuse(batch.requests, begun);
  } else if (!applied.ok() || commit(batch) == Outcome::aborted) {
    batch.abort();
    batch.untell();
    commit_singly(batch.requests);
  }
  tell(batch);
  clear_stale_readers_now_and_then();
  residence_.look();
  group_.finish(batch.requests);
}

// What does not fit together may fit one by one, or at least fail one by one. The bodies run anew:
// what they saw of each other has been undone.
void LmdbStore::commit_singly(const std::vector<Request*>& requests) {
  for (Request* request : requests) {
    Batch batch;
    batch.requests = {request};
    Status status = begin(batch);
    if (status.ok()) status = run_into(batch, *request);
    if (status.ok() && commit(batch) == Outcome::aborted) status = full("is full");
    if (status.code() == Code::storage_full) ++refused_full_;
    if (!status.ok()) request->result = Failure{std::move(status)};
    tell(batch);
  }
}

// Each bell once: jobs that come in together mostly ring the same one, and a ring is a system call.
void LmdbStore::tell(Batch& batch) const {
  std::ranges::sort(batch.bells);
  const auto repeated = std::ranges::unique(batch.bells);
  batch.bells.erase(repeated.begin(), repeated.end());
  for (const std::string& bell : batch.bells) bells_.ring(bell);
  for (const auto& told : batch.told) told();
}

Status LmdbStore::full(std::string_view how) const {
  return {Code::storage_full, "the store in " + environment_->dir() + " " + std::string(how) +
                                  ": finish or purge something, or give it more room"};
}

Status LmdbStore::begin(Batch& batch) {
  SLUICE_TRY(poisoned());
  const MonoTime asked = options_.clock->mono();
  shared_->lock_gate();
  MDB_txn* raw = nullptr;
  const int rc = mdb_txn_begin(environment_->get(), nullptr, 0, &raw);
  shared_->unlock_gate();
  lock_wait_ns_.record(static_cast<std::uint64_t>((options_.clock->mono() - asked).count()));
  SLUICE_TRY(lmdb_status(rc, "cannot begin a transaction"));
  batch.txn.reset(raw);
  SLUICE_LET(header, environment_->header(raw));
  batch.space.emplace(*environment_, raw, reserve_bytes_);
  SLUICE_TRY(gather_free_pages(*environment_, raw, reserve_bytes_));
  if (!file_known_) SLUICE_TRY(know_file(batch, header));
  batch.epoch = header.epoch;
  SLUICE_LET(sink, LmdbSink::open(raw, environment_->dbi(), residence_));
  batch.sink.emplace(std::move(sink));
  return {};
}

// Before the first write of this process: is this the file that the store was last written in, as
// it was left? If not, it was copied or put back by other means than a restore, and what was told
// before must not fit what comes now.
Status LmdbStore::know_file(Batch& batch, StoreHeader& header) {
  SLUICE_LET(file, environment_->file());
  const bool moved = header.file && *header.file != file;
  const bool put_back = shared_->last_commit() >= mdb_txn_id(batch.txn.get());
  if (header.file && !moved && !put_back) {
    file_known_ = true;
    return {};
  }
  if (moved || put_back) {
    SLUICE_LET(epoch, draw_epoch_above(header.epoch));
    header.epoch = epoch;
    if (options_.log)
      options_.log(LogLevel::warning, "the store in " + environment_->dir() +
                                          (moved ? " is in another file than it was written in"
                                                 : " holds less than was committed to it") +
                                          ", so it was copied or put back: its epoch is now " +
                                          std::to_string(epoch) +
                                          ", and no token or cursor from before is good any more");
  }
  header.file = file;
  batch.knows_file = true;
  return lmdb_status(put_header(batch.txn.get(), environment_->dbi(), header),
                     "cannot write the store's header");
}

// Runs one body and applies what it wrote. A body that fails, or is refused, only has its own
// result set. A failure to apply is returned: it leaves the whole transaction to be aborted.
Status LmdbStore::run_into(Batch& batch, Request& request) {
  overlay_.clear();
  Status status;
  {
    LmdbView view(batch.txn.get(), *environment_);
    status = Engine::run_body(*request.body, view, overlay_, *options_.clock);
  }
  if (status.ok()) status = make_room(batch, request.options.write_class);
  if (!status.ok()) {
    request.result = Failure{std::move(status)};
    return {};
  }
  Commit commit{.epoch = batch.epoch, .stamp = {}};
  if (!overlay_.empty()) {
    commit.stamp = stamp_of(mdb_txn_id(batch.txn.get()), batch.requests.size());
    status = overlay_.apply(*batch.sink, commit);
    if (status.code() == Code::io_error) poison(status);
    SLUICE_TRY(status);
    ++batch.writers;
    batch.bytes += overlay_.bytes();
  }
  for (const std::string_view bell : overlay_.bells()) batch.bells.emplace_back(bell);
  for (auto& told : overlay_.take_told()) batch.told.push_back(std::move(told));
  request.result = commit;
  return {};
}

Status LmdbStore::make_room(Batch& batch, WriteClass write_class) {
  if (overlay_.empty()) return {};
  if (write_class == WriteClass::drain) {
    batch.space->take_drain(overlay_);
    return {};
  }
  SLUICE_LET(fits, batch.space->take(overlay_));
  if (fits) return {};
  ++refused_full_;
  return full("has only its reserve left");
}

LmdbStore::Outcome LmdbStore::commit(Batch& batch) {
  if (batch.writers == 0) {
    batch.abort();
    return Outcome::committed;
  }
  const MonoTime started = options_.clock->mono();
  const std::uint64_t transaction = mdb_txn_id(batch.txn.get());
  const int rc = mdb_txn_commit(batch.end_writing());
  if (rc != 0) return commit_failed(batch, rc);
  shared_->note_commit(transaction);
  if (batch.knows_file) file_known_ = true;
  commit_ns_.record(static_cast<std::uint64_t>((options_.clock->mono() - started).count()));
  batch_size_.record(batch.writers);
  commits_ += batch.writers;
  bytes_written_ += batch.bytes;
  return Outcome::committed;
}

// LMDB has aborted the transaction. What is left to decide is whether anything of it can be on the
// disk, and whether the disk can be trusted from here on: if in doubt the store stops.
LmdbStore::Outcome LmdbStore::commit_failed(Batch& batch, int rc) {
  batch.untell();
  if (rc == MDB_MAP_FULL || rc == MDB_TXN_FULL) return Outcome::aborted;
  const std::string reason = std::string("commit failed: ") + mdb_strerror(rc);
  if (meta_write_failed()) {
    poison({Code::io_error, reason});
    refuse(batch.requests, {Code::commit_unknown, reason + " while writing the meta page"});
    return Outcome::failed;
  }
  // Short of space while writing data pages: nothing refers to them yet, so this is a clean abort.
  // LMDB reports a short write as EIO; only a full disk writes short. The sync afterwards tells a
  // full disk from a broken one.
  int fd = -1;
  mdb_env_get_fd(environment_->get(), &fd);
  const bool full =
      rc == ENOSPC || rc == EDQUOT || (rc == EIO && disk_is_full(environment_->dir()));
  if (full && fdatasync(fd) == 0) return Outcome::aborted;
  poison({Code::io_error, reason});
  refuse(batch.requests, poisoned());
  return Outcome::failed;
}

void LmdbStore::refuse(const std::vector<Request*>& requests, const Status& status) {
  for (Request* request : requests) request->result = Failure{status};
}

// LMDB refuses every transaction once a meta page could not be written.
bool LmdbStore::meta_write_failed() const {
  MDB_txn* raw = nullptr;
  const int rc = mdb_txn_begin(environment_->get(), nullptr, MDB_RDONLY, &raw);
  if (rc == 0) mdb_txn_abort(raw);
  return rc == MDB_PANIC;
}

void LmdbStore::poison(const Status& status) {
  if (options_.log)
    options_.log(LogLevel::error,
                 "the store in " + environment_->dir() + " stops: " + status.message());
  const MutexLock lock(mutex_);
  poison_ = Status(Code::io_error, status.message() +
                                       "; the store refuses all work until it is closed, the cause "
                                       "found and the store opened again");
  is_poisoned_ = true;
}

Status LmdbStore::poisoned() const {
  if (!is_poisoned_) return {};
  const MutexLock lock(mutex_);
  return poison_;
}

void LmdbStore::clear_stale_readers_now_and_then() {
  const MonoTime now = options_.clock->mono();
  if (now - readers_checked_ < kReaderCheckPeriod) return;
  readers_checked_ = now;
  const int cleared = environment_->clear_stale_readers();
  if (cleared > 0 && options_.log)
    options_.log(LogLevel::info, "cleared " + std::to_string(cleared) + " stale readers");
}

// ---------------------------------------------------------------------------------------- reading

Result<TxnPtr> LmdbStore::begin_read() const {
  {
    const MutexLock lock(mutex_);
    if (!idle_readers_.empty()) {
      TxnPtr txn = std::move(idle_readers_.back());
      idle_readers_.pop_back();
      SLUICE_TRY(lmdb_status(mdb_txn_renew(txn.get()), "cannot begin a read"));
      return txn;
    }
  }
  MDB_txn* raw = nullptr;
  int rc = mdb_txn_begin(environment_->get(), nullptr, MDB_RDONLY, &raw);
  if (rc == MDB_READERS_FULL && environment_->clear_stale_readers() > 0)
    rc = mdb_txn_begin(environment_->get(), nullptr, MDB_RDONLY, &raw);
  SLUICE_TRY(lmdb_status(rc, "cannot begin a read"));
  return TxnPtr(raw);
}

Status LmdbStore::do_read(const ReadBody& body, const ReadOptions& options) {
  SLUICE_TRY(poisoned());
  SLUICE_LET(txn, begin_read());
  Status status;
  {
    LmdbView view(txn.get(), *environment_);
    status = Engine::run_read(body, view, options, *options_.clock);
  }
  mdb_txn_reset(txn.get());
  if (++reads_ % Residence::kValuesPerLook == 0) residence_.look();
  const MutexLock lock(mutex_);
  idle_readers_.push_back(std::move(txn));
  return status;
}

Result<std::uint16_t> LmdbStore::do_raise_epoch() {
  Request request;
  Batch batch;
  batch.requests = {&request};
  SLUICE_TRY(begin(batch));
  if (batch.epoch == UINT16_MAX)
    return error(Code::limit_exceeded, "the last epoch has been reached");
  const auto next = static_cast<std::uint16_t>(batch.epoch + 1);
  SLUICE_LET(file, environment_->file());
  SLUICE_TRY(lmdb_status(put_header(batch.txn.get(), environment_->dbi(), {next, file}),
                         "cannot raise the epoch"));
  batch.writers = 1;
  request.result = Commit{};
  if (commit(batch) == Outcome::aborted)
    return error(Code::storage_full, "no room left to write the epoch");
  SLUICE_TRY(request.result);
  return next;
}

Status LmdbStore::do_copy_to(const std::string& dir) {
  SLUICE_TRY(poisoned());
  SLUICE_LET(target, CopyTarget::make(dir));
  SLUICE_TRY(target->write_data(*environment_));
  // After the data: the time was told to whoever wrote what is in it.
  SLUICE_TRY(shared_->copy_time_to(dir));
  return target->finish();
}

Stats LmdbStore::stats() const {
  const MDB_envinfo info = environment_->info();
  Stats stats{.engine = std::string("lmdb ") + mdb_version(nullptr, nullptr, nullptr),
              .commits = commits_,
              .refused_full = refused_full_,
              .bytes_written = bytes_written_,
              .batch_size = distribution_of(batch_size_),
              .commit_ns = distribution_of(commit_ns_),
              .lock_wait_ns = distribution_of(lock_wait_ns_),
              .map_bytes = info.me_mapsize,
              .readers = look_at_readers(*environment_).count};
  if (auto txn = begin_read()) {
    const std::uint64_t unused = free_pages(txn->get()).value_or(0);
    stats.used_bytes = (info.me_last_pgno + 1 - unused) * environment_->page_bytes();
  }
  return stats;
}

Result<std::unique_ptr<Store>> open_lmdb(LmdbOptions options) {
  SLUICE_LET(store, LmdbStore::open(std::move(options)));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace sluice::kv
