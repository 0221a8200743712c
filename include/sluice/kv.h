// SPDX-License-Identifier: MIT
// The key-value contract that everything in Sluice stands on: ordered byte keys, serializable
// transactions, a commit that is durable before it is reported.
//
// This header is the reference text. Whatever it promises holds on every engine (`memory`, `lmdb`)
// and is pinned by a test in src/kv/conformance/. docs/design/kv.md explains it by example.
//
//   auto store = sluice::kv::open_lmdb({.dir = "data"});
//   auto commit = (*store)->run([](sluice::kv::Transaction& txn) -> sluice::Status {
//     SLUICE_LET(balance, txn.get("alice"));
//     txn.put("alice", balance ? "old" : "new");
//     return {};
//   });
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/random.h>
#include <sluice/result.h>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::kv {

// ---------------------------------------------------------------------------------------- limits
// The smallest over all engines, so that what runs on one runs on each. One past a limit is
// `invalid_argument` and has no effect; an overlong transaction is `deadline_exceeded`.

inline constexpr std::size_t kKeyBytesMax = 511;
inline constexpr std::size_t kValueBytesMax = 100'000;
/// Counted as: put, add 3 * key + value; erase 3 * key; erase_range 2 * (begin + end); conflicting
/// read begin + end (a get: 2 * key). This is never less than what FoundationDB counts.
inline constexpr std::size_t kTransactionBytesMax = 10'000'000;
/// From the first line of a body to its return; the same for a read, unless it is `unbounded`.
inline constexpr Duration kTransactionTimeMax = std::chrono::seconds(5);
/// Keys that begin with one of these bytes belong to the engine: reading or writing one is refused.
inline constexpr char kReservedFirst = '\x00';
inline constexpr char kReservedLast = '\xff';

// ---------------------------------------------------------------------------------------- stamps

/// Ten bytes that the store fills in at commit: unique per committed body, increasing in commit
/// order within one epoch. Nobody knows a stamp before its commit, on any engine.
struct Stamp {
  std::array<std::uint8_t, 10> bytes{};
  friend auto operator<=>(const Stamp&, const Stamp&) = default;
};

inline constexpr std::size_t kMarkBytes = 16;

/// What a stamped key or value really stores: epoch (2 bytes), stamp (10), ordinal (4), each
/// big-endian, so that byte order is commit order. The ordinal tells apart what one body wrote; the
/// epoch rises on import and restore, so that marks never run backwards.
struct Mark {
  std::uint16_t epoch = 0;
  Stamp stamp = {};
  std::uint32_t ordinal = 0;

  std::string encode() const;
  /// Fails with `corrupt` unless `bytes` is exactly kMarkBytes long.
  static Result<Mark> decode(std::string_view bytes);
  friend auto operator<=>(const Mark&, const Mark&) = default;
};

/// What became of a body that committed.
struct Commit {
  std::uint16_t epoch = 0;
  /// All zero if the body wrote nothing: such a commit is not ordered among the others.
  Stamp stamp = {};

  /// The mark of what this body wrote with `ordinal`.
  Mark mark(std::uint32_t ordinal) const { return {epoch, stamp, ordinal}; }
};

// --------------------------------------------------------------------------------------- reading

/// How a read inside a writing transaction relates to other writers.
enum class Isolation : std::uint8_t {
  /// Sees this transaction's own writes. The transaction commits only if nothing that was read has
  /// changed in between (otherwise it runs again).
  conflicting,
  /// Sees the store as it was when the transaction began, without its own writes, and does not
  /// mind later changes. For picking candidates that are then read again conflictingly.
  snapshot,
};

/// Half-open: begin <= key < end. Keys compare as unsigned bytes, a prefix before its extensions.
struct Range {
  std::string begin;
  std::string end;

  /// All keys that start with `prefix`, which must itself be a key that users may hold.
  static Range prefix(std::string_view prefix);
  /// Every key that a user of the store may hold.
  static Range all();
};

struct ScanOptions {
  std::size_t limit = SIZE_MAX;
  bool reverse = false;
  Isolation isolation = Isolation::conflicting;
};

struct KeyValue {
  std::string key;
  std::string value;
  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

/// Receives one value; the bytes live until it returns.
using ValueVisitor = std::function<void(std::string_view value)>;
/// Receives one entry and returns whether to go on; the bytes live until it returns.
using Visitor = std::function<bool(std::string_view key, std::string_view value)>;

class View;
class Overlay;

/// One consistent view of the store. Lives for the call of the body it is given to, on that
/// thread. After the first failed operation every further one fails with the same status.
class Reader {
 public:
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// A copy of the value, or nothing if the key is absent. O(log n).
  Result<std::optional<std::string>> get(std::string_view key,
                                         Isolation isolation = Isolation::conflicting);
  /// As get(), but shows the bytes in place; returns whether the key is there.
  Result<bool> visit(std::string_view key, const ValueVisitor& visitor,
                     Isolation isolation = Isolation::conflicting);

  /// Visits the entries of `range` in key order (or in reverse) until the visitor returns false or
  /// `limit` entries were visited. The visitor must not use this transaction.
  Status scan(const Range& range, const ScanOptions& options, const Visitor& visitor);
  /// The same, copied into a vector.
  Result<std::vector<KeyValue>> scan(const Range& range, const ScanOptions& options = {});

  /// The epoch in force: the one that this transaction's marks have if it commits.
  Result<std::uint16_t> epoch();

 protected:
  struct Limits {
    const Clock& clock;
    Duration time_max = kTransactionTimeMax;
  };
  Reader(View& view, Limits limits);
  ~Reader() = default;

  Status check_time();
  Status fail(Status status);
  void charge(std::size_t bytes);

  View& view_;
  Overlay* overlay_ = nullptr;  // Only a Transaction has one.
  Status failure_;

 private:
  friend class Engine;
  Status check_operation();
  Status check_own_read(std::string_view begin, std::size_t bytes, bool stamped);
  Result<bool> visit_sum(std::string_view key, std::int64_t delta, const ValueVisitor& visitor);

  Limits limits_;
  MonoTime deadline_;
  std::size_t bytes_ = 0;
  unsigned operations_ = 0;
};

// --------------------------------------------------------------------------------------- writing

/// A transaction that is being written. Nothing it writes is visible to anybody else before the
/// commit, and all of it is after. Writing calls return nothing: the first one that breaks a limit
/// makes run() return that failure, with no effect, whatever the body returns.
///
/// Own writes. Conflicting reads see them, with one exception on every engine: the stamp of a
/// stamped key or value does not exist yet, so a conflicting read that touches one fails with
/// `invalid_argument`, and so does erase_range() over one. (Touches: the range meets the keys that
/// start with the stamped key's prefix, or holds the key of the stamped value.) Code that shares a
/// transaction must therefore read before it writes stamped keys.
class Transaction : public Reader {
 public:
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  void erase_range(const Range& range);

  /// Adds `delta` to the number at `key` without reading it, so it never conflicts with other adds.
  /// The number is 8 bytes little-endian and wraps; an absent key counts as 0, a shorter value is
  /// extended with zeros, a longer one cut to 8 bytes.
  void add(std::string_view key, std::int64_t delta);

  /// The next unused ordinal of this body: 0, 1, 2, ...
  std::uint32_t take_ordinal() { return ordinal_next_++; }
  /// Writes `value` under prefix + mark + suffix. The prefix must not be empty.
  void put_stamped_key(std::string_view prefix, std::uint32_t ordinal, std::string_view suffix,
                       std::string_view value);
  /// Writes value + mark under `key`.
  void put_stamped_value(std::string_view key, std::string_view value, std::uint32_t ordinal);

  /// Rings `bell` once this transaction is committed (see Store::listen).
  void ring(std::string_view bell);

  /// Calls `told` once this transaction is known to be committed, before run() returns or `done` is
  /// called, on the thread that committed it. For counters and logs, which must not tell of what
  /// did not happen. `told` must not block, throw, nor use the store. What is `commit_unknown` is
  /// not told.
  void after_commit(std::function<void()> told);

  /// Gives the transaction up: run() returns `status`, a failure, whatever the body returns. For
  /// layers that learn of it where they cannot return anything.
  void refuse(Status status);

 private:
  friend class Engine;
  Transaction(View& view, Overlay& overlay, Limits limits);
  bool writable(std::string_view key);

  std::uint32_t ordinal_next_ = 0;
};

/// Reads the 8 bytes that add() keeps; an absent value is 0. Fails with `corrupt` on another size.
Result<std::int64_t> decode_counter(const std::optional<std::string>& value);

// ----------------------------------------------------------------------------------------- store

/// A body runs synchronously on some thread, any number of times, and may have no effect but
/// through its transaction (and variables that it sets anew on each run). It does not block, and
/// does not call run(), submit(), read() or copy_to() of any store: that is `invalid_argument`.
/// If it returns a failure, nothing is written and run() returns that failure. An exception that
/// leaves a body counts as the failure `invalid_argument`.
using Body = std::function<Status(Transaction&)>;
using ReadBody = std::function<Status(Reader&)>;
using Done = std::function<void(Result<Commit>)>;

enum class WriteClass : std::uint8_t {
  grow,   ///< Adds data. Refused with `storage_full` when space is short.
  drain,  ///< Shrinks the store, or moves it towards that (ack, cancel, sweep): allowed to the end.
};

struct WriteOptions {
  WriteClass write_class = WriteClass::grow;
  /// After so many conflicts run() gives up and returns `conflict`.
  unsigned attempts_max = 1000;
};

struct ReadOptions {
  /// Lifts kTransactionTimeMax, for streaming a whole store (verify, backup). An engine that cannot
  /// hold a snapshot for so long refuses with `invalid_argument`.
  bool unbounded = false;
};

/// What a waiter saw of a bell before it looked at the store.
struct BellTicket {
  std::string bell = {};
  std::uint64_t rings = 0;
  std::uint64_t commits = 0;
};

enum class Wake : std::uint8_t { rung, timed_out, stopped };

struct WaitOptions {
  Duration timeout = Duration::max();
  std::stop_token stop = {};
};

/// A distribution of measurements since the store was opened; percentiles are within 7 %.
struct Distribution {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t p50 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t max = 0;
};

/// Of this process since it opened the store, except where it says otherwise.
struct Stats {
  std::string engine = {};          ///< Name and version, as "lmdb 0.9.24".
  std::uint64_t commits = 0;        ///< Bodies that committed something.
  std::uint64_t conflicts = 0;      ///< Bodies that had to run again.
  std::uint64_t refused_full = 0;   ///< Bodies refused with storage_full.
  std::uint64_t bytes_written = 0;  ///< Keys and values of committed bodies.
  Distribution batch_size = {};     ///< Bodies per commit of the engine.
  Distribution commit_ns = {};      ///< Time to make a batch durable (writing and syncing).
  Distribution lock_wait_ns = {};   ///< Time a batch waited for writers in other processes.
  std::uint64_t map_bytes = 0;      ///< The store's own: the most it can hold; 0 is no bound.
  std::uint64_t used_bytes = 0;     ///< The store's own: pages in use, without free ones.
  std::uint64_t readers = 0;        ///< The store's own: reader slots in use.
};

/// A transactional, ordered key-value store.
///
/// Lifecycle: made by open_memory() or open_lmdb(), destroyed after the last call has returned;
/// the destructor first completes what was submitted. Concurrency: every member may be called from
/// any thread at any time. After an I/O error the store is *poisoned*: every call fails with
/// `io_error` until the store is closed and opened again.
class Store {
 public:
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Runs `body` in a transaction and returns when its commit is durable. Conflicts are retried.
  /// `commit_unknown` means just that: it is neither retried nor guessed at. Concurrent callers
  /// share one sync.
  Result<Commit> run(const Body& body, WriteOptions options = {});

  /// The same without blocking the caller. `done` is called exactly once, possibly before submit()
  /// returns, on a thread of the store's or the caller's; it must not block nor call run(). Both
  /// functions are kept until then.
  void submit(Body body, Done done, WriteOptions options = {});

  /// Runs `body` once on a snapshot. Never waits for writers and never makes one wait.
  Status read(const ReadBody& body, ReadOptions options = {});

  /// Doorbells, for waiting until another thread, process or machine has committed something of
  /// interest. A bell is any name; ring() in a transaction rings it after the commit. A waiter
  /// first calls listen(), then looks at the store, then wait()s if it found nothing. wait()
  /// returns `rung` if the bell has rung since listen(), and now and then when it has not, so a
  /// waiter always looks again. A writer killed between commit and ring is noticed within
  /// kBellCheckPeriod; an idle waiter wakes up no more often than that.
  BellTicket listen(std::string_view bell) const;
  Wake wait(const BellTicket& ticket, const WaitOptions& options) const;

  /// *Store time*: the wall clock as it was when the first process opened the store, advanced by
  /// Clock::mono(). The same for all processes that have the store open, whatever happens to the
  /// wall clock meanwhile. It never runs backwards, not even when all have closed the store and one
  /// opens it again; that holds after a power cut too, unless the wall clock was then set back.
  /// Costs little more than reading the clock. May be called from a body, and never fails.
  WallTime now() const;

  virtual Stats stats() const = 0;

  /// Starts the next epoch, so that stamps made from now on order after every stamp of other
  /// copies of this store. Part of import; restore_lmdb() does it by itself. Returns the new epoch.
  Result<std::uint16_t> raise_epoch();

  /// Writes the store as it is now, without its free pages, into the directory `dir`: a store that
  /// opens like this one, with the same map size, whose stamps and store time go on after those
  /// that it holds. `dir` is made if it is missing (its parent must exist: `not_found`); if it is
  /// there it must be empty (`already_exists`). Returns when the copy and its name are on the disk.
  /// On failure (`storage_full` if the target has no room) what was written is removed; a process
  /// killed meanwhile leaves a directory without `data.mdb`, which is to be removed.
  ///
  /// Others go on reading and writing; what they commit meanwhile is not in the copy, and the pages
  /// that they free are not used again before it is done, so the store may grow. Costs a read of
  /// all that is stored. Not for bodies (`invalid_argument`), nor for engines without files
  /// (`invalid_argument`). To put a copy in the place of its original, use restore_lmdb().
  Status copy_to(const std::string& dir);

 protected:
  Store() = default;

 private:
  virtual Result<Commit> do_run(const Body& body, const WriteOptions& options) = 0;
  virtual void do_submit(Body body, Done done, const WriteOptions& options) = 0;
  virtual Status do_read(const ReadBody& body, const ReadOptions& options) = 0;
  virtual BellTicket do_listen(std::string_view bell) const = 0;
  virtual Wake do_wait(const BellTicket& ticket, const WaitOptions& options) const = 0;
  virtual WallTime do_now() const = 0;
  virtual Result<std::uint16_t> do_raise_epoch() = 0;
  /// Refuses, unless the engine has files.
  virtual Status do_copy_to(const std::string& dir);
};

inline constexpr Duration kBellCheckPeriod = std::chrono::seconds(2);

// --------------------------------------------------------------------------------------- engines

struct MemoryOptions {
  /// serial: bodies run one at a time. optimistic: as FoundationDB does, bodies run at the same
  /// time on snapshots, and one whose reads were overtaken by another's writes runs again.
  enum class Mode : std::uint8_t { serial, optimistic };
  Mode mode = Mode::serial;
  const Clock* clock = &system_clock();
  /// Optimistic mode calls this between the end of a body and the decision whether it commits, with
  /// no lock held. Other transactions may be run to their end inside it: that is how tests make
  /// two transactions overlap on one thread.
  std::function<void()> before_commit = {};
};

/// A store that lives and dies with the process. Nothing it does can fail for want of a disk.
std::unique_ptr<Store> open_memory(MemoryOptions options = {});

struct LmdbOptions {
  /// The store's directory; made if it is missing (its parent must exist), private to the user.
  std::string dir = {};
  /// The most that the store can hold. Address space, not disk: the file grows as it is used.
  /// Stored with the data: a larger value grows it, a smaller one changes nothing. A process that
  /// had it open before gets `unavailable` once it meets data beyond its own map, and reopens.
  std::uint64_t map_bytes = std::uint64_t{64} << 30;
  /// Space that only the drain class may use; 0 picks 1/32 of the map, at most 256 MiB.
  std::uint64_t reserve_bytes = 0;
  /// Takes the map's whole size from the disk at open, so that a full disk is met there and not
  /// later. No help on copy-on-write file systems.
  bool preallocate = false;
  /// The most of the mapped file that stays in the memory of this process, about; 0: as much as the
  /// kernel likes. What is given back is still in the kernel's cache. Looked at after commits and
  /// after every few reads.
  std::uint64_t resident_bytes_max = 0;
  unsigned readers_max = 500;
  const Clock* clock = &system_clock();
  LogSink log = {};
};

/// The embedded store, shared by any number of processes on this machine. A process opens a
/// directory at most once at a time (`already_exists`), and not on a network file system
/// (`invalid_argument`). Not usable in a child after fork() (use posix_spawn).
Result<std::unique_ptr<Store>> open_lmdb(LmdbOptions options);

/// Rewrites the file of the store in `options.dir` without its free pages. Of the options only
/// `dir` counts. Nothing that the store holds changes: neither entries, stamps, epoch, map size nor
/// store time.
///
/// Nobody may have the store open, in this process or in another, nor be opening it: `unavailable`,
/// at once and with nothing changed. Whoever opens it meanwhile waits until this is done.
/// `not_found` if there is no store. Needs room for the new file beside the old one
/// (`storage_full`). On failure, and after a kill or a power cut at any point, the store is there,
/// whole, in its old file or in its new one.
Status compact_lmdb(const LmdbOptions& options);

struct RestoreOptions {
  std::string backup = {};  ///< A directory that Store::copy_to() has written.
  std::string dir = {};     ///< Where the store is to be; made if it is missing.
  bool replace = false;     ///< Also if there is a store: it is put aside in DIR/old-TIME.
  const Clock* clock = &system_clock();
};

struct Restored {
  std::uint16_t epoch = 0;
  std::string put_aside = {};  ///< Where the store is that was there; empty: there was none.
};

/// Puts a copy of a backup into a directory, as a store that goes on from there.
///
/// Its epoch is above that of the backup and of every store in `dir` (the one that is there, and
/// those that were put aside before), by 1 to 200 by chance. So nothing that was told before, by
/// the store that was lost or by another restore of the same backup, fits what is told from now on.
///
/// Nobody may have the store or the backup open: `unavailable`. `already_exists` if there is a
/// store and it is not to be replaced; `not_found` if there is no backup; `storage_full` if there
/// is no room for it. Every other file in `dir` stays. The new files belong to the owner of `dir`,
/// and its group may use them as it may use `dir`. On failure, and after a kill or a power cut at
/// any point, the old store is there or the new one, whole.
Result<Restored> restore_lmdb(const RestoreOptions& options);

}  // namespace sluice::kv
