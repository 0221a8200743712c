// SPDX-License-Identifier: MIT
// The parts of verify(). Each checks some of the numbered invariants (docs/design/invariants.md).
#pragma once

#include <sluice/queue.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

/// What is known of a group: its record, and what its jobs add up to.
struct GroupCheck {
  GroupRecord record = {};
  std::array<std::uint64_t, kLaneCount + 1> jobs{};  ///< By lane number.
  std::array<bool, kLaneCount + 1> counted{};        ///< The lane has a count in the store.
  std::optional<Spot> first = {};                    ///< Of its ready jobs.
  unsigned offers = 0;
  unsigned blocks = 0;
};

/// The same of a batch.
struct BatchCheck {
  BatchRecord record = {};
  std::array<std::int64_t, kBatchCounts + 1> counts{};  ///< By BatchCount.
  std::uint64_t members = 0;
  bool drop = false;  ///< What the agenda has for it.
  bool check = false;
  bool forget = false;
};

/// The same of a queue.
struct QueueCheck {
  QueueRecord record = {};
  std::array<std::uint64_t, kLaneCount + 1> jobs{};
  std::array<bool, kLaneCount + 1> counted{};
  std::map<Bytes16, GroupCheck> groups = {};
  std::map<std::string, BatchCheck, std::less<>> batches = {};
  std::uint64_t slots = 0;
  bool review = false;
};

/// Walks the store once, space by space, and collects breaches.
class Verifier {
 public:
  Verifier(kv::Reader& reader, const VerifyOptions& options) : reader_(reader), options_(options) {}

  Status run();
  VerifyReport take_report() { return std::move(report_); }

 private:
  using Entry = std::function<Status(std::string_view key, std::string_view value)>;

  void breach(std::string_view invariant, std::string_view key, std::string what);
  /// Calls `entry` for each key of a space. A failure that is `corrupt` becomes a breach of I1.
  Status each(Space space, const Entry& entry);
  Result<bool> there(const std::string& key);
  /// The queue whose hash comes first in the key; null, with a breach, if there is none.
  QueueCheck* queue_of(codec::TupleReader& reader, std::string_view key, Bytes16* hash = nullptr);

  // Queues and groups (queues.cc).
  Status check_header();
  Status load_queues();
  Status load_groups();
  Status check_counts();
  Status check_group_counts();
  Status check_settings();
  void check_totals(const Bytes16& hash, const QueueCheck& queue);
  void check_group(const Keys& keys, const QueueCheck& queue, const Bytes16& hash,
                   const GroupCheck& group);

  // Jobs (jobs.cc).
  Status check_jobs();
  Status check_job(const Keys& keys, QueueCheck& queue, const Bytes16& number,
                   const StoredJob& stored);
  Status check_lane(const Keys& keys, const QueueCheck& queue, const Bytes16& number,
                    const StoredJob& stored);
  Status check_parts(const Keys& keys, const Bytes16& number, const JobRecord& record);
  void check_record(const Keys& keys, const QueueCheck& queue, const Bytes16& number,
                    const JobRecord& record);

  // Entries that lead to jobs (entries.cc).
  Status check_entries();
  Status check_ids();
  Status check_offers();
  Status check_group_jobs();
  Status check_timed(Space space);
  Status check_payloads();
  Status check_attempts();
  Result<std::optional<StoredJob>> job_at(const Keys& keys, const Bytes16& number,
                                          std::string_view key);

  // Unique keys and dependencies (flows.cc).
  Status check_job_flows(const Keys& keys, const QueueCheck& queue, const Bytes16& number,
                         const JobRecord& record);
  Status check_unique_keys();
  Status check_waits();
  Status check_waited_for(std::string_view key, const TieRecord& tie, const std::string& queue,
                          const std::string& id, const Bytes16& number);
  Status check_dependants();

  // Batches, schedules, events (batches.cc).
  Status load_batches();
  Status load_agenda();
  Status check_batches();
  void check_batch(const std::string& key, const BatchCheck& batch);
  Status check_schedules();
  Status check_events();

  kv::Reader& reader_;
  const VerifyOptions& options_;
  VerifyReport report_;
  std::map<Bytes16, QueueCheck> queues_;
  std::set<std::pair<Bytes16, Bytes16>> releases_;  ///< Queue and job, from the agenda.
  std::map<std::pair<Bytes16, std::string>, Bytes16> releases_by_id_;
};

}  // namespace sluice::queue
