// SPDX-License-Identifier: MIT
// The stream of a queue's events: its jobs' moves, as they are committed (docs/design/flows.md).
#pragma once

#include <sluice/flow.h>
#include <sluice/result.h>

#include <optional>
#include <string_view>

#include "queue/steps.h"

namespace sluice::queue {

/// The job has moved. Written by flush_events().
void note_move(QueueState& queue, const JobRecord& record, std::optional<Lane> from, Lane to);

/// Writes this transaction's events, and now and then trims the stream.
Status flush_events(Steps& steps, QueueState& queue);

/// Erases events of a shard that are too old or too many, at most `keys_max` keys of them. How many
/// keys.
Result<std::size_t> trim_events(Steps& steps, QueueState& queue, std::uint32_t shard,
                                std::size_t keys_max);
/// When the oldest events may be trimmed.
Result<std::optional<Millis>> next_trim(kv::Reader& reader, const Keys& keys);

/// A place in the stream: after the first `moves` moves of the key at `place`.
struct EventCursor {
  Bytes16 place = {};
  std::uint64_t moves = 0;
  friend auto operator<=>(const EventCursor&, const EventCursor&) = default;
};

/// Up to where a shard's stream was trimmed; zero if it was not.
Result<EventCursor> read_trimmed(kv::Reader& reader, const Keys& keys, std::uint32_t shard);
/// The shards that have a stream, also those that the queue does not have any more.
Result<std::vector<std::uint32_t>> event_shards(kv::Reader& reader, const Keys& keys);

/// Rung when the queue has new events.
std::string events_bell(const Bytes16& queue);

}  // namespace sluice::queue
