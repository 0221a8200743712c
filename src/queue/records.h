// SPDX-License-Identifier: MIT
// Every record of the queue layer (docs/format/queue.md), as values and as bytes.
#pragma once

#include <sluice/job.h>
#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/token_bucket.h>
#include "queue/bytes16.h"
#include "queue/keys.h"

namespace sluice::queue {

/// Of the whole layer. A store of an older minor version is opened, one of a newer is refused.
inline constexpr std::uint64_t kFormatMajor = 1;
inline constexpr std::uint64_t kFormatMinor = 1;

/// A payload up to this is part of the job's record; a longer one has keys of its own.
inline constexpr std::size_t kInlineBytesMax = 1'024;
inline constexpr std::size_t kChunkBytesMax = 64'000;
static_assert(kChunkBytesMax + 64 <= kv::kValueBytesMax);
static_assert(kResultBytesMax + kInlineBytesMax + 2 * kTextBytesMax + 4 * kNameBytesMax + 512 <=
                  kv::kValueBytesMax,
              "a job's record with everything in it is one value");

struct HeaderRecord {
  std::uint64_t major = kFormatMajor;
  std::uint64_t minor = kFormatMinor;
  Millis created = 0;
};

struct QueueRecord {
  std::string name = {};
  Millis created = 0;
  bool paused = false;
  bool reviewing = false;
  QueueConfig config = {};
};

/// The lanes of a unique key as bits: that of lane n is 1 << n.
using LaneBits = std::uint32_t;
constexpr LaneBits lane_bit(Lane lane) {
  return LaneBits{1} << static_cast<unsigned>(lane);
}

/// A job's unique key.
struct UniqueRecord {
  std::string key = {};
  LaneBits lanes = 0;
  Millis until = 0;  // The end of its window; 0: none.
  bool held = false;
};

struct JobRecord {
  std::string id = {};
  Lane lane = Lane::ready;
  std::int32_t priority = 0;
  std::string group = {};
  std::uint32_t shard = 0;
  Millis enqueued = 0;
  Millis due = 0;      // 0: none.
  Millis expires = 0;  // 0: never.
  std::uint32_t attempts = 0;
  std::uint64_t claims = 0;
  std::uint32_t lapses = 0;
  Millis claimed = 0;
  Millis deadline = 0;
  std::string worker = {};
  Millis since = 0;
  DeathReason reason = DeathReason::none;
  std::string error = {};
  std::string progress = {};
  std::string result = {};
  std::optional<RetryPolicy> retry = {};
  std::string payload = {};
  std::uint64_t chunked_bytes = 0;  // 0: the payload is in the record.
  std::uint32_t history = 0;
  std::optional<UniqueRecord> unique = {};
  bool waits = false;       // It has entries in the space `after`.
  bool waited_for = false;  // Others have waited for it, or do.
  std::string batch = {};
  std::string schedule = {};
  Millis planned = 0;
  Millis finished = 0;  // 0: at `since`. Else `since` is later, so that it is kept for longer.

  Millis finished_at() const { return finished > 0 ? finished : since; }
  std::size_t payload_bytes() const { return chunked_bytes > 0 ? chunked_bytes : payload.size(); }
  std::size_t chunk_count() const { return (chunked_bytes + kChunkBytesMax - 1) / kChunkBytesMax; }
};

struct GroupRecord {
  enum class State : std::uint8_t { idle = 0, offered = 1, blocked = 2 };

  std::string name = {};
  std::optional<std::uint32_t> limit = {};
  State state = State::idle;
  std::uint64_t round = 0;
};

struct OperationRecord {
  std::string verb = {};
  std::uint32_t request = 0;
  std::string results = {};
};

struct ScheduleRecord {
  std::string name = {};
  std::string cron = {};
  NewJob job = {};
  Millis created = 0;
  bool paused = false;
  Millis next = 0;     // 0: nothing is planned.
  Millis planned = 0;  // 0: it has not run yet.
  std::string last_id = {};
  std::uint64_t fired = 0;
  std::uint64_t skipped = 0;
  std::string error = {};
};

struct BatchRecord {
  std::string id = {};
  Millis created = 0;
  bool sealed = false;
  bool cancelled = false;
  Millis ended = 0;  // 0: not yet.
  std::optional<NewJob> on_success = {};
  std::optional<NewJob> on_end = {};
  std::string success_id = {};
  std::string end_id = {};
  std::string error = {};
};

/// A small thing to remember: an id, or other bytes, and a number.
struct NoteRecord {
  std::string id = {};
  std::uint64_t number = 0;
};

/// One side of a tie: the other job, and the token that both sides have.
struct TieRecord {
  std::string queue = {};
  std::string id = {};
  AfterPolicy policy = AfterPolicy::success;
  std::uint64_t token = 0;
};

/// Moves of one transaction and shard.
struct EventsRecord {
  struct Move {
    std::string id = {};
    std::uint8_t from = 0;  // A lane's number; 0: it is new.
    std::uint8_t to = 0;
    std::uint32_t attempt = 0;
  };
  Millis at = 0;
  std::vector<Move> moves = {};
};

std::string encode(const HeaderRecord& record);
std::string encode(const QueueRecord& record);
/// Without the place, which follows it in the value.
std::string encode(const JobRecord& record);
std::string encode_chunk(std::string_view bytes);
std::string encode(const GroupRecord& record);
std::string encode(const BucketState& state);
std::string encode(const Attempt& attempt);
std::string encode(const OperationRecord& record);
std::string encode(const Worker& worker);
std::string encode_claimer(Millis expires);
std::string encode(const ScheduleRecord& record);
std::string encode(const BatchRecord& record);
std::string encode(const NoteRecord& record);
std::string encode(const TieRecord& record);
/// `moves` is what append_move() has made, `count` times. It leaves out of an id what is the same
/// as in `last_id`, the one before, and then makes it that.
std::string encode_events(Millis at, std::uint64_t count, std::string_view moves);
void append_move(std::string& moves, std::string& last_id, std::string_view id, std::uint8_t from,
                 std::uint8_t to, std::uint32_t attempt);

Result<HeaderRecord> decode_header(std::string_view bytes);
Result<QueueRecord> decode_queue(std::string_view bytes);
Result<JobRecord> decode_job(std::string_view bytes);
/// The same into `job`, which is new.
Status decode_job_into(JobRecord& job, std::string_view bytes);
Result<std::string> decode_chunk(std::string_view bytes);
Result<GroupRecord> decode_group(std::string_view bytes);
Result<BucketState> decode_bucket(std::string_view bytes);
/// All but the claim, which is in the key.
Result<Attempt> decode_attempt(std::string_view bytes);
Result<OperationRecord> decode_operation(std::string_view bytes);
Result<Worker> decode_worker(std::string_view bytes);
Result<Millis> decode_claimer(std::string_view bytes);
Result<ScheduleRecord> decode_schedule(std::string_view bytes);
Result<BatchRecord> decode_batch(std::string_view bytes);
Result<EventsRecord> decode_events(std::string_view bytes);
/// Only how many and when: what trimming has to know.
struct EventsHead {
  Millis at = 0;
  std::uint64_t count = 0;
};
Result<EventsHead> decode_events_head(std::string_view bytes);
Result<NoteRecord> decode_note(std::string_view bytes);
Result<TieRecord> decode_tie(std::string_view bytes);

/// Store time as stored: rounded down, for instants; rounded up, for durations, so that nothing
/// happens too early.
Millis to_millis(WallTime time);
Millis to_millis(Duration duration);
/// The way back. A number that is too large, as only damage makes one, is the latest there is.
Duration to_duration(Millis ms);
WallTime to_wall(Millis ms);
/// For which time a schedule has enqueued the job.
std::optional<WallTime> planned_of(const JobRecord& record);

}  // namespace sluice::queue
