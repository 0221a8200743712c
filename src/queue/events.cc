// SPDX-License-Identifier: MIT
#include "queue/events.h"

#include <algorithm>

#include "codec/tuple.h"

namespace sluice::queue {
namespace {

/// The moves that one key holds; what a whole value may be is a little more.
constexpr std::size_t kPieceBytesMax = 60'000;
/// One transaction of so many trims, so many keys.
constexpr std::uint64_t kTrimOneIn = 16;
constexpr std::size_t kTrimKeys = 64;

Result<Bytes16> place_of(std::string_view key) {
  SLUICE_LET(reader, read_key(key, Space::event));
  SLUICE_TRY(reader.mark());
  SLUICE_TRY(reader.number<std::uint32_t>());
  SLUICE_LET(place, reader.mark());
  return Bytes16::of(place);
}

}  // namespace

std::string events_bell(const Bytes16& queue) {
  return std::string("sluice/events/") + std::string(queue.view());
}

void note_move(QueueState& queue, const JobRecord& record, std::optional<Lane> from, Lane to) {
  if (!queue.config().events) return;
  auto& pieces = queue.events[record.shard].pieces;
  if (pieces.empty() || pieces.back().moves.size() > kPieceBytesMax - kNameBytesMax * 2)
    pieces.emplace_back();
  append_move(pieces.back().moves, pieces.back().last_id, record.id,
              from ? static_cast<std::uint8_t>(*from) : 0, static_cast<std::uint8_t>(to),
              record.attempts);
  ++pieces.back().count;
}

Status flush_events(Steps& steps, QueueState& queue) {
  if (queue.events.empty()) return {};
  kv::Transaction& txn = steps.txn();
  for (auto& [shard, events] : queue.events) {
    // First: once this transaction has written to the stream it cannot read it any more.
    if (steps.shared().draw_below(kTrimOneIn) == 0)
      SLUICE_TRY(trim_events(steps, queue, shard, kTrimKeys));
    const auto key = queue.keys.new_event(shard);
    std::uint64_t count = 0;
    for (const auto& piece : events.pieces) {
      txn.put_stamped_key(key.prefix, txn.take_ordinal(), key.suffix,
                          encode_events(steps.now(), piece.count, piece.moves));
      count += piece.count;
    }
    txn.add(queue.keys.event_count(shard), static_cast<std::int64_t>(count));
  }
  queue.events.clear();
  txn.ring(events_bell(queue.hash));
  return {};
}

Result<std::size_t> trim_events(Steps& steps, QueueState& queue, std::uint32_t shard,
                                std::size_t keys_max) {
  kv::Transaction& txn = steps.txn();
  SLUICE_LET(count, read_count(txn, queue.keys.event_count(shard), kv::Isolation::snapshot));
  std::uint64_t left = count;
  std::int64_t trimmed = 0;
  std::uint64_t moves_of_last = 0;
  std::vector<std::string> keys;
  Status problem;
  SLUICE_TRY(txn.scan(queue.keys.events(shard), {.limit = keys_max},
                      [&](std::string_view key, std::string_view value) {
                        const auto events = decode_events_head(value);
                        if (!events) {
                          problem = events.error();
                          return false;
                        }
                        const bool old = events->at + to_millis(kEventsKept) <= steps.now();
                        const std::uint64_t moves = events->count;
                        // The newest kEventsMax stay, whole keys of them.
                        if (!old && left < kEventsMax + moves) return false;
                        left -= std::min(left, moves);
                        moves_of_last = moves;
                        trimmed += static_cast<std::int64_t>(moves);
                        keys.emplace_back(key);
                        return true;
                      }));
  SLUICE_TRY(problem);
  if (keys.empty()) return std::size_t{0};
  for (const std::string& key : keys) txn.erase(key);
  txn.add(queue.keys.event_count(shard), -trimmed);
  SLUICE_LET(last, place_of(keys.back()));
  const NoteRecord note{.id = std::string(last.view()), .number = moves_of_last};
  txn.put(queue.keys.trimmed(shard), encode(note));
  return keys.size();
}

Result<EventCursor> read_trimmed(kv::Reader& reader, const Keys& keys, std::uint32_t shard) {
  SLUICE_LET(value, reader.get(keys.trimmed(shard)));
  if (!value) return EventCursor{};
  SLUICE_LET(note, decode_note(*value));
  if (note.id.size() != Bytes16::kSize)
    return error(Code::corrupt, "where events were trimmed is no place");
  return EventCursor{.place = Bytes16::of(note.id), .moves = note.number};
}

Result<std::vector<std::uint32_t>> event_shards(kv::Reader& reader, const Keys& keys) {
  std::vector<std::uint32_t> shards;
  SLUICE_LET(counts,
             reader.scan(keys.all(Space::event_count), {.isolation = kv::Isolation::snapshot}));
  for (const auto& entry : counts) {
    SLUICE_LET(key, read_key(entry.key, Space::event_count));
    SLUICE_TRY(key.mark());
    SLUICE_LET(shard, key.number<std::uint32_t>());
    shards.push_back(shard);
  }
  return shards;
}

Result<std::optional<Millis>> next_trim(kv::Reader& reader, const Keys& keys) {
  std::optional<Millis> next;
  SLUICE_LET(shards, event_shards(reader, keys));
  for (const std::uint32_t shard : shards) {
    SLUICE_LET(oldest, reader.scan(keys.events(shard), {.limit = 1}));
    if (oldest.empty()) continue;
    SLUICE_LET(events, decode_events_head(oldest[0].value));
    const Millis over = events.at + to_millis(kEventsKept);
    next = next ? std::min(*next, over) : over;
  }
  return next;
}

}  // namespace sluice::queue
