// SPDX-License-Identifier: MIT
// Queues::events: following what happens to a queue's jobs.
#include <fmt/format.h>
#include <sluice/queue.h>

#include <algorithm>
#include <charconv>

#include "queue/access.h"
#include "queue/checks.h"
#include "queue/events.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

using Cursor = EventCursor;

std::string to_text(const Cursor& cursor) {
  return fmt::format("{}.{}", to_hex(cursor.place.view()), cursor.moves);
}

Result<Cursor> parse_cursor(std::string_view text) {
  const auto bad = [] {
    return error(Code::invalid_argument, "`after` is not the cursor of an event");
  };
  constexpr std::size_t kDigits = Bytes16::kSize * 2;
  if (text.empty()) return Cursor{};
  if (text.size() < kDigits + 2 || text[kDigits] != '.') return bad();
  std::string bytes;
  for (std::size_t i = 0; i < kDigits; i += 2) {
    std::uint8_t byte = 0;
    const auto parsed = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + i + 2) return bad();
    bytes.push_back(static_cast<char>(byte));
  }
  Cursor cursor{.place = Bytes16::of(bytes)};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + kDigits + 1, end, cursor.moves);
  if (parsed.ec != std::errc() || parsed.ptr != end) return bad();
  return cursor;
}

Result<Bytes16> place_of(std::string_view key) {
  if (key.size() < Bytes16::kSize) return error(Code::corrupt, "the key of an event is too short");
  return Bytes16::of(key.substr(key.size() - Bytes16::kSize));
}

/// The events of one shard after `cursor`, at most `limit`.
Status read_shard(kv::Reader& reader, const Keys& keys, std::uint32_t shard, const Cursor& cursor,
                  std::size_t limit, std::vector<std::pair<Cursor, Event>>& found) {
  kv::Range range = keys.events(shard);
  if (!cursor.place.zero()) range.begin = keys.event(shard, cursor.place);
  // Every key holds one event at least.
  SLUICE_LET(entries, reader.scan(range, {.limit = limit + 1}));
  std::size_t taken = 0;
  for (const auto& entry : entries) {
    SLUICE_LET(place, place_of(entry.key));
    SLUICE_LET(events, decode_events(entry.value));
    for (std::size_t i = 0; i < events.moves.size() && taken < limit; ++i) {
      const Cursor at{.place = place, .moves = i + 1};
      if (at <= cursor) continue;
      const EventsRecord::Move& move = events.moves[i];
      Event event{.id = move.id,
                  .to = static_cast<Lane>(move.to),
                  .attempt = move.attempt,
                  .at = to_wall(events.at),
                  .cursor = to_text(at)};
      if (move.from > 0) event.from = static_cast<Lane>(move.from);
      found.emplace_back(at, std::move(event));
      ++taken;
    }
  }
  return {};
}

Status read_page(kv::Reader& reader, const EventsRequest& request, const Cursor& cursor,
                 EventPage& page) {
  SLUICE_TRY(read_queue_or_fail(reader, request.queue));
  const Keys keys(hash_of(request.queue));
  std::vector<std::pair<Cursor, Event>> found;
  SLUICE_LET(shards, event_shards(reader, keys));
  Cursor past = cursor;
  for (const std::uint32_t shard : shards) {
    SLUICE_LET(trimmed, read_trimmed(reader, keys, shard));
    if (!cursor.place.zero() && cursor < trimmed) page.gap = true;
    past = std::max(past, trimmed);
    SLUICE_TRY(read_shard(reader, keys, shard, cursor, request.limit, found));
  }
  std::ranges::sort(found, {}, [](const auto& one) { return one.first; });
  if (found.size() > request.limit) found.resize(request.limit);
  for (auto& [at, event] : found) page.events.push_back(std::move(event));
  if (!page.events.empty())
    page.next = page.events.back().cursor;
  else
    page.next = past.place.zero() ? "" : to_text(past);  // Past the gap, or it would repeat itself.
  return {};
}

}  // namespace

Result<EventPage> Queues::events(const EventsRequest& request) {
  SLUICE_TRY(check_page(request.limit));
  SLUICE_LET(cursor, parse_cursor(request.after));
  const WallTime started = store_.now();
  const std::string bell = events_bell(hash_of(request.queue));
  for (;;) {
    const kv::BellTicket ticket = store_.listen(bell);
    EventPage page;
    SLUICE_TRY(store_.read([&](kv::Reader& reader) {
      page = {};
      return read_page(reader, request, cursor, page);
    }));
    const Duration waited = store_.now() - started;
    if (!page.events.empty() || page.gap || waited >= request.wait || request.stop.stop_requested())
      return page;
    if (store_.wait(ticket, {.timeout = request.wait - waited, .stop = request.stop}) ==
        kv::Wake::stopped)
      return page;
  }
}

Result<std::string> Queues::events_end(std::string_view name) {
  Cursor last;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_TRY(read_queue_or_fail(reader, name));
    const Keys keys(hash_of(name));
    SLUICE_LET(shards, event_shards(reader, keys));
    for (const std::uint32_t shard : shards) {
      SLUICE_LET(trimmed, read_trimmed(reader, keys, shard));
      last = std::max(last, trimmed);
      SLUICE_LET(newest, reader.scan(keys.events(shard), {.limit = 1, .reverse = true}));
      if (newest.empty()) continue;
      SLUICE_LET(place, place_of(newest[0].key));
      SLUICE_LET(events, decode_events(newest[0].value));
      last = std::max(last, Cursor{.place = place, .moves = events.moves.size()});
    }
    return {};
  }));
  return last.place.zero() ? std::string() : to_text(last);
}

}  // namespace sluice::queue
