// SPDX-License-Identifier: MIT
// Markers of active jobs: who says that a job runs, and until when that counts.
#include <algorithm>

#include "server/compat.h"
#include "server/compat_answers.h"

namespace sluice::server {
namespace {

constexpr std::size_t kRemovedMax = 1'000;

struct Marker {
  std::string owner = {};
  std::string id = {};
};

Result<Marker> parse_marker(const Fields& fields, Owner owner) {
  SLUICE_LET(name, fields.name(owner == Owner::team ? "teamId" : "crawlId"));
  SLUICE_LET(id, fields.name("jobId"));
  return Marker{.owner = std::move(name), .id = std::move(id)};
}

/// Those of crawls are only for whoever may use all teams.
bool may_mark(Call& call, Owner owner, const Marker& marker) {
  return owner == Owner::crawl || check_team(call, May::work, marker.owner);
}

/// Takes the marker away, if it is there.
Result<bool> take(kv::Transaction& txn, Owner owner, const Marker& marker) {
  const std::string key = marker_key(owner, marker.owner, marker.id);
  SLUICE_LET(value, txn.get(key));
  if (!value) return false;
  SLUICE_LET(until, decode_time(*value));
  txn.erase(key);
  txn.erase(marker_time_key(owner, marker.owner, until, marker.id));
  txn.add(marker_count_key(owner, marker.owner), -1);
  return true;
}

void put_marker(kv::Transaction& txn, Owner owner, const Marker& marker, std::int64_t until) {
  const std::string key = marker_key(owner, marker.owner, marker.id);
  txn.put(key, encode_time(until));
  txn.put(marker_time_key(owner, marker.owner, until, marker.id), key);
  txn.add(marker_count_key(owner, marker.owner), 1);
}

}  // namespace

void Compat::push_marker(Call call, Owner owner) {
  std::int64_t timeout = 0;
  auto marker = read_fields(call, [&](const Fields& fields) -> Result<Marker> {
    SLUICE_LET(ms, fields.integer("timeout"));
    timeout = ms;
    return parse_marker(fields, owner);
  });
  if (!marker || !may_mark(call, owner, *marker)) return;
  const std::int64_t now = now_ms();
  const std::int64_t until = now + std::clamp<std::int64_t>(timeout, -now, INT64_MAX / 4);
  work_.write(std::move(call), timeout > 0 ? kv::WriteClass::grow : kv::WriteClass::drain,
              [owner, marker = *marker, until, now](kv::Transaction& txn,
                                                    net::HttpResponse& answer) -> Status {
                SLUICE_TRY(take(txn, owner, marker));
                if (until > now) put_marker(txn, owner, marker, until);
                answer = success_answer(true);
                return {};
              });
}

void Compat::remove_marker(Call call, Owner owner) {
  auto marker =
      read_fields(call, [&](const Fields& fields) { return parse_marker(fields, owner); });
  if (!marker || !may_mark(call, owner, *marker)) return;
  work_.write(std::move(call), kv::WriteClass::drain,
              [owner, marker = *marker](kv::Transaction& txn, net::HttpResponse& answer) -> Status {
                SLUICE_TRY(take(txn, owner, marker));
                answer = success_answer(true);
                return {};
              });
}

// Those that have run out are counted until they are removed, so they are taken off here.
void Compat::count_markers(Call call, Owner owner) {
  std::int64_t count = 0;
  const Status read = queues_.store().read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(value, reader.get(marker_count_key(owner, call.parts[0])));
    SLUICE_LET(all, kv::decode_counter(value));
    SLUICE_LET(over, reader.scan(markers_until(owner, call.parts[0], now_ms())));
    count = all - static_cast<std::int64_t>(over.size());
    return {};
  });
  call.exchange.reply(read.ok() ? number_answer("count", static_cast<std::uint64_t>(count))
                                : failure_answer(read));
}

void Compat::list_markers(Call call, Owner owner) {
  const std::string name = call.parts[0];
  work_.look_up(std::move(call), [this, owner, name]() -> Result<net::HttpResponse> {
    std::vector<std::string> ids;
    const std::int64_t now = now_ms();
    SLUICE_TRY(queues_.store().read([&](kv::Reader& reader) -> Status {
      ids.clear();
      SLUICE_LET(entries, reader.scan(markers_of(owner, name)));
      for (const kv::KeyValue& entry : entries) {
        SLUICE_LET(until, decode_time(entry.value));
        if (until <= now) continue;
        SLUICE_LET(id, marked_id(entry.key));
        ids.push_back(std::move(id));
      }
      return {};
    }));
    return list_answer("jobIds", ids);
  });
}

Result<std::uint64_t> Compat::remove_markers(std::string_view count_key, std::int64_t now_ms) {
  SLUICE_LET(range, markers_until(count_key, now_ms));
  std::uint64_t removed = 0;
  SLUICE_TRY(queues_.store().run(
      [&](kv::Transaction& txn) -> Status {
        removed = 0;
        SLUICE_LET(over, txn.scan(range, {.limit = kRemovedMax}));
        for (const kv::KeyValue& entry : over) {
          txn.erase(entry.key);
          txn.erase(entry.value);
        }
        removed = over.size();
        txn.add(count_key, -static_cast<std::int64_t>(removed));
        return {};
      },
      {.write_class = kv::WriteClass::drain}));
  return removed;
}

Result<std::uint64_t> Compat::remove_old_markers() {
  std::vector<std::string> with_old;
  const std::int64_t now = now_ms();
  SLUICE_TRY(queues_.store().read([&](kv::Reader& reader) -> Status {
    with_old.clear();
    SLUICE_LET(counts, reader.scan(all_marker_counts()));
    for (kv::KeyValue& count : counts) {
      SLUICE_LET(range, markers_until(count.key, now));
      SLUICE_LET(over, reader.scan(range, {.limit = 1}));
      if (!over.empty()) with_old.push_back(std::move(count.key));
    }
    return {};
  }));
  std::uint64_t sum = 0;
  for (const std::string& key : with_old) {
    SLUICE_LET(removed, remove_markers(key, now));
    sum += removed;
  }
  return sum;
}

}  // namespace sluice::server
