// SPDX-License-Identifier: MIT
// What the verbs of one transaction share: the queues and groups they touch, read once, changed in
// memory and written back together.
#pragma once

#include <sluice/job.h>
#include <sluice/kv.h>
#include <sluice/result.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "queue/bytes16.h"
#include "queue/keys.h"
#include "queue/new_keys.h"
#include "queue/records.h"
#include "queue/shared.h"

namespace sluice::queue {

/// Changes of counts, by lane number.
using LaneDeltas = std::array<std::int64_t, kLaneCount + 1>;

/// A group as this transaction knows it. Its offer is settled once, in flush().
struct GroupState {
  struct Ready {
    Spot spot = {};
    Bytes16 job = {};
  };
  /// The first of the jobs that this transaction readies: their places do not exist yet.
  struct Fresh {
    std::int32_t priority = 0;
    std::uint32_t ordinal = 0;
  };

  Bytes16 hash = {};
  GroupRecord record = {};
  bool stored = false;  ///< The record exists in the store.
  bool touched = false;
  bool changed = false;  ///< The record must be written.
  bool shrunk = false;   ///< It lost a job, perhaps its last.
  bool review = false;   ///< It may be at its limit now, or not any more: compare.

  std::optional<std::int64_t> active = {};  ///< Leased jobs, once somebody asked.
  bool first_known = false;
  std::optional<Ready> first = {};        ///< Its first ready job, fresh ones apart.
  std::optional<Spot> first_stored = {};  ///< Where that stood, as the store has it.
  std::optional<Fresh> fresh = {};
  std::uint64_t round_stored = 0;  ///< Where a fair queue's offer stands in the store.
  LaneDeltas deltas{};
};

/// A batch as this transaction knows it. Whether it has ended is seen once, in flush().
struct BatchState {
  BatchRecord record = {};
  bool changed = false;                                 ///< The record must be written.
  bool look = false;                                    ///< See whether it has ended.
  std::array<std::int64_t, kBatchCounts + 1> deltas{};  ///< By BatchCount.
};

/// Moves of this transaction's jobs, ready to be stored.
struct ShardEvents {
  /// The moves that share a key.
  struct Piece {
    std::uint64_t count = 0;
    std::string moves = {};
    std::string last_id = {};
  };
  std::vector<Piece> pieces = {};
};

/// A queue as this transaction knows it.
struct QueueState {
  explicit QueueState(const Bytes16& queue_hash) : hash(queue_hash), keys(queue_hash) {}

  Bytes16 hash;
  Keys keys;
  QueueRecord record = {};
  bool stored = false;
  bool changed = false;
  bool ring = false;  ///< Something became claimable.
  LaneDeltas deltas{};
  std::optional<std::int64_t> backlog = {};  ///< As stored, once somebody asked.
  std::int64_t accepted = 0;                 ///< New jobs that are not counted in `deltas` yet.
  std::optional<std::int64_t> debt = {};
  std::vector<std::string> freed_slots = {};
  std::map<std::uint32_t, std::uint64_t> rounds = {};  ///< By shard: reached by this transaction.
  std::map<Bytes16, GroupState> groups = {};
  std::map<std::string, GroupState*, std::less<>> groups_by_name = {};  ///< Saves hashing again.
  std::map<std::string, BatchState, std::less<>> batches = {};
  std::vector<std::pair<std::string, Lane>> ended_members = {};  ///< Batch, and how.
  NewKeys new_keys = {};
  std::set<Bytes16> replaced = {};  ///< Jobs whose unique keys new ones have taken.
  std::map<std::uint32_t, ShardEvents> events = {};

  bool exists() const { return stored || changed; }
  const QueueConfig& config() const { return record.config; }
  /// Whether ready jobs like this one stand in their group's range.
  bool grouped(const JobRecord& job) const { return config().fair || !job.group.empty(); }
};

/// A job that a verb has in its hands.
struct JobState {
  QueueState* queue = nullptr;
  Bytes16 number = {};
  Bytes16 place = {};
  JobRecord record = {};
  std::optional<Lane> left = {};  ///< The lane that leave() took it from.
};

/// A job that another one waits for. Without a number it is new as well.
struct Tie {
  QueueState* queue = nullptr;
  std::string id = {};
  std::optional<Bytes16> number = {};
  AfterPolicy policy = AfterPolicy::success;
  std::uint64_t token = 0;  ///< The same on both sides: it tells this tie from all others.
};

/// A job that a verb has accepted and that does not exist yet.
struct NewJobState {
  QueueState* queue = nullptr;
  Lane lane = Lane::ready;  ///< ready, scheduled, held or waiting.
  JobRecord record = {};
  std::string payload = {};
  std::vector<Tie> ties = {};
  std::optional<Bytes16> replaces = {};  ///< The job that has to give up its unique key.
  std::string_view unique_at = {};  ///< Its unique key as it is stored, if it is in `new_keys`.
  Millis key_ran_out = 0;           ///< When the window of its key's last holder did, if so.
  std::string kept_id = {};         ///< Not empty: this job is there already, and enough.
};

/// How a job ended, for those that wait for it. The numbers are stored.
enum class Ending : std::uint8_t {
  done = 1,
  failed = 2,  ///< Dead or cancelled, but it is still there.
  lost = 3,    ///< The same, and it was removed.
};

/// A job whose dependants are to be settled.
struct Release {
  QueueState* queue = nullptr;
  Bytes16 number = {};
  std::string id = {};
  Ending ending = Ending::done;
  Millis at = 0;  ///< Of its entry in the agenda, if it comes to that.
};

/// Not thread-safe; lives inside one body.
class Steps {
 public:
  Steps(Shared& shared, kv::Transaction& txn);
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  kv::Transaction& txn() { return txn_; }
  Shared& shared() { return shared_; }
  Millis now() const { return now_; }
  bool replayed_ = false;

  /// A claim was answered with what it did before: waiting would not change that.
  void note_replay() { replayed_ = true; }
  bool replayed() const { return replayed_; }

  /// The queue of that name, which need not exist yet (QueueState::exists).
  Result<QueueState*> see_queue(std::string_view name);
  /// Null if there is no such queue.
  Result<QueueState*> find_queue(std::string_view name);
  /// `not_found` if there is none.
  Result<QueueState*> get_queue(std::string_view name);
  /// Makes it, with default settings, if there is none.
  Result<QueueState*> make_queue(std::string_view name);

  /// The group of that name, which need not exist yet.
  Result<GroupState*> get_group(QueueState& queue, std::string_view name);
  Result<GroupState*> get_group(QueueState& queue, const Bytes16& hash);

  /// `not_found` if there is none. A job that this transaction enqueued is not seen; one that it
  /// gave a new place is refused with `invalid_argument`.
  Result<JobState> get_job(std::string_view queue, std::string_view id);
  /// Nothing if there is no such job.
  Result<std::optional<JobState>> find_job(QueueState& queue, const Bytes16& number);

  /// Whether the id is new to this transaction as well; remembers it.
  bool add_new_id(const QueueState& queue, std::string_view id);
  void forget_new_id(const QueueState& queue, std::string_view id);
  /// Whether this transaction enqueues a job of that id.
  bool is_new_id(const QueueState& queue, std::string_view id);

  /// What gets its place at the commit is written last, in the order of these calls: from then on
  /// the ready lane could not be read any more, on any engine.
  void place_later(NewJobState job);
  void place_later(JobState job);
  /// Whether the job is one of the second kind: its record cannot be read again.
  bool placed(const Bytes16& number) const { return placed_.contains(number); }
  bool placed_any() const { return !placed_.empty(); }
  /// The job of that number that place_later() has.
  const JobState& placed_job(const Bytes16& number) const;
  /// The new job of that id, which place_later() has.
  NewJobState& new_job(const QueueState& queue, std::string_view id);
  /// The ordinal of a new job's number, from place_now() on.
  std::uint32_t ordinal_of(const QueueState& queue, std::string_view id) const;
  void set_ordinal(const NewJobState& job, std::uint32_t ordinal);

  /// The job has finished, or was removed: those that wait for it are settled in flush().
  void release_later(Release release) { releases_.push_back(std::move(release)); }
  /// What is left of them; the caller takes it over.
  std::vector<Release> take_releases() { return std::exchange(releases_, {}); }
  /// Jobs that others began to wait for in this transaction: their dependants cannot be read yet.
  std::set<Bytes16>& newly_waited_for() { return newly_waited_for_; }

  /// Writes what the verbs left to the end: new places, counts, groups and their offers, queues;
  /// rings bells. Once, as the last step.
  Status flush();

 private:
  Status flush_queue(QueueState& queue);

  Shared& shared_;
  kv::Transaction& txn_;
  const Millis now_;
  std::map<std::string, std::unique_ptr<QueueState>, std::less<>> queues_;
  std::vector<std::variant<NewJobState, JobState>> placements_;
  std::set<Bytes16> placed_;
  struct NewId {
    std::size_t placement = 0;
    std::uint32_t ordinal = 0;
  };
  std::map<std::pair<Bytes16, std::string>, NewId> new_ids_;
  std::vector<Release> releases_;
  std::set<Bytes16> newly_waited_for_;
};

/// Reading outside of a writing transaction, on the same bytes.
Result<std::optional<QueueRecord>> read_queue(kv::Reader& reader, std::string_view name);
Result<QueueRecord> read_queue_or_fail(kv::Reader& reader, std::string_view name);
Failure no_such_queue(std::string_view name);
Failure no_such_job(std::string_view queue, std::string_view id);

/// A job's stored value: its record and its place, which for zero bytes is `number`.
struct StoredJob {
  JobRecord record = {};
  Bytes16 place = {};
};
Result<StoredJob> decode_stored_job(std::string_view value, const Bytes16& number);

Result<std::uint64_t> read_count(kv::Reader& reader, const std::string& key,
                                 kv::Isolation isolation = kv::Isolation::conflicting);

}  // namespace sluice::queue
