// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include <fmt/format.h>

#include "queue/names.h"
#include "queue/verify/check.h"

namespace sluice::queue {
namespace {

constexpr std::size_t kPageEntries = 512;

}  // namespace

void Verifier::breach(std::string_view invariant, std::string_view key, std::string what) {
  ++report_.breach_count;
  if (report_.breaches.size() < options_.breaches_max)
    report_.breaches.push_back(
        {.invariant = std::string(invariant), .key = to_hex(key), .what = std::move(what)});
}

Status Verifier::each(Space space, const Entry& entry) {
  kv::Range range = space_range(space);
  if (space == Space::header) range = {.begin = header_key(), .end = header_key() + '\0'};
  for (;;) {
    // Copied out page by page: a visitor must not read, and the checks do.
    SLUICE_LET(page, reader_.scan(range, {.limit = kPageEntries}));
    for (const auto& [key, value] : page) {
      ++report_.keys;
      Status status = entry(key, value);
      if (status.code() == Code::corrupt)
        breach("I1", key, status.message());
      else
        SLUICE_TRY(status);
    }
    if (page.size() < kPageEntries) return {};
    range.begin = page.back().key + '\0';
  }
}

Result<bool> Verifier::there(const std::string& key) {
  return reader_.visit(key, [](std::string_view) {});
}

QueueCheck* Verifier::queue_of(codec::TupleReader& reader, std::string_view key, Bytes16* hash) {
  const auto mark = reader.mark();
  if (!mark) {
    breach("I1", key, "the key names no queue");
    return nullptr;
  }
  const Bytes16 found = Bytes16::of(*mark);
  const auto it = queues_.find(found);
  if (it == queues_.end()) {
    breach("I2", key, "the key belongs to a queue that does not exist");
    return nullptr;
  }
  if (hash != nullptr) *hash = found;
  return &it->second;
}

Status Verifier::run() {
  SLUICE_TRY(check_header());
  SLUICE_TRY(load_queues());
  SLUICE_TRY(load_groups());
  SLUICE_TRY(load_batches());
  SLUICE_TRY(load_agenda());
  SLUICE_TRY(check_jobs());
  SLUICE_TRY(check_entries());
  SLUICE_TRY(check_unique_keys());
  SLUICE_TRY(check_waits());
  SLUICE_TRY(check_dependants());
  SLUICE_TRY(check_batches());
  SLUICE_TRY(check_schedules());
  SLUICE_TRY(check_events());
  SLUICE_TRY(check_settings());
  SLUICE_TRY(check_counts());
  SLUICE_TRY(check_group_counts());
  for (const auto& [hash, queue] : queues_) check_totals(hash, queue);
  report_.queues = queues_.size();
  // Whatever is outside of the spaces that exist.
  const kv::Range gaps[] = {
      {.begin = space_range(Space::claimer).end, .end = space_range(Space::agenda).begin},
      {.begin = space_range(Space::trimmed).end,
       .end = std::string(1, static_cast<char>(kKeyPrefix + 1))}};
  for (const kv::Range& gap : gaps) {
    SLUICE_LET(unknown, reader_.scan(gap, {.limit = options_.breaches_max + 1}));
    for (const auto& entry : unknown)
      breach("I1", entry.key, "the key is in a space that this version does not know");
  }
  return {};
}

Result<VerifyReport> verify(kv::Store& store, VerifyOptions options) {
  VerifyReport report;
  const auto body = [&](kv::Reader& reader) -> Status {
    Verifier verifier(reader, options);
    SLUICE_TRY(verifier.run());
    report = verifier.take_report();
    return {};
  };
  Status status = store.read(body, {.unbounded = true});
  // An engine that cannot hold a snapshot for long does small stores within its time.
  if (status.code() == Code::invalid_argument) status = store.read(body);
  SLUICE_TRY(status);
  return report;
}

}  // namespace sluice::queue
