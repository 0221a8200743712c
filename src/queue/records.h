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

#include "base/token_bucket.h"
#include "queue/bytes16.h"
#include "queue/keys.h"

namespace sluice::queue {

/// Of the whole layer. A store of an older minor version is opened, one of a newer is refused.
inline constexpr std::uint64_t kFormatMajor = 1;
inline constexpr std::uint64_t kFormatMinor = 0;

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

/// Store time as stored: rounded down, for instants; rounded up, for durations, so that nothing
/// happens too early.
Millis to_millis(WallTime time);
Millis to_millis(Duration duration);
/// The way back. A number that is too large, as only damage makes one, is the latest there is.
Duration to_duration(Millis ms);
WallTime to_wall(Millis ms);

}  // namespace sluice::queue
