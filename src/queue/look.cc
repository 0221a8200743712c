// SPDX-License-Identifier: MIT
#include "queue/look.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "queue/after.h"
#include "queue/checks.h"
#include "queue/lanes.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

constexpr std::size_t kExaminedMax = 10'000;

std::optional<WallTime> time_or_none(Millis ms) {
  return ms > 0 ? std::optional(to_wall(ms)) : std::nullopt;
}

Result<Counts> read_counts(kv::Reader& reader, const Keys& keys,
                           const std::optional<Bytes16>& group) {
  Counts counts;
  for (std::size_t number = 1; number <= kLaneCount; ++number) {
    const auto lane = static_cast<Lane>(number);
    SLUICE_LET(count, read_count(reader, group ? keys.group_count(*group, lane) : keys.count(lane),
                                 kv::Isolation::snapshot));
    counts.of(lane) = count;
  }
  return counts;
}

/// The entries among which a listing finds its jobs; each ends in a job's number.
kv::Range listing_range(const Keys& keys, std::optional<Lane> lane) {
  if (!lane || *lane == Lane::ready) return keys.all(Space::job);
  if (*lane == Lane::scheduled) return keys.all(Space::scheduled);
  if (*lane == Lane::leased) return keys.all(Space::leased);
  return keys.rest_all(*lane);
}

Result<std::string> from_hex(std::string_view text) {
  const auto bad = [] {
    return error(Code::invalid_argument, "`after` is not what an earlier page gave as `next`");
  };
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  if (text.size() % 2 != 0) return bad();
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return bad();
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

Status read_history(kv::Reader& reader, const Keys& keys, const Bytes16& number, Job& job) {
  SLUICE_LET(entries, reader.scan(keys.attempts(number)));
  for (const auto& entry : entries) {
    SLUICE_LET(attempt, decode_attempt(entry.value));
    SLUICE_LET(key, read_key(entry.key, Space::attempt));
    SLUICE_TRY(key.mark());
    SLUICE_TRY(key.mark());
    SLUICE_LET(claim, key.number<std::uint64_t>());
    attempt.claim = claim;
    job.history.push_back(std::move(attempt));
  }
  return {};
}

Status read_after(kv::Reader& reader, const Keys& keys, const Bytes16& number, Job& job) {
  SLUICE_LET(entries, reader.scan(keys.afters(number), {.limit = kAfterMax}));
  for (const auto& entry : entries) {
    SLUICE_LET(tie, decode_tie(entry.value));
    job.after.push_back({.queue = tie.queue, .id = tie.id, .policy = tie.policy});
  }
  return {};
}

Status list_page(kv::Reader& reader, const ListRequest& request, Page& page) {
  SLUICE_LET(queue, read_queue_or_fail(reader, request.queue));
  const Keys keys(hash_of(request.queue));
  kv::Range range = listing_range(keys, request.lane);
  if (!request.after.empty()) {
    SLUICE_LET(last, from_hex(request.after));
    if (last < range.begin || last >= range.end)
      return error(Code::invalid_argument, "`after` is from another listing");
    range.begin = last + '\0';
  }
  const bool filtered = !request.group.empty() || request.lane == Lane::ready;
  // The numbers first: a visitor must not read.
  std::vector<std::string> found;
  SLUICE_TRY(
      reader.scan(range, {.limit = kExaminedMax}, [&](std::string_view key, std::string_view) {
        found.emplace_back(key);
        return filtered || found.size() < request.limit;
      }));
  std::size_t examined = 0;
  for (const auto& key : found) {
    if (page.jobs.size() == request.limit) break;
    ++examined;
    const auto number = Bytes16::of(std::string_view(key).substr(key.size() - Bytes16::kSize));
    SLUICE_LET(stored, read_job(reader, keys, number));
    if (!stored) return error(Code::corrupt, "the entry " + to_hex(key) + " leads to no job");
    const JobRecord& record = stored->record;
    if (request.lane && record.lane != *request.lane) continue;
    if (!request.group.empty() && record.group != request.group) continue;
    Job& job = page.jobs.emplace_back(to_job(queue, number, record));
    if (!request.payload) continue;
    SLUICE_LET(payload, read_payload(reader, keys, number, record));
    job.payload = std::move(payload);
  }
  const bool ended =
      examined == found.size() && found.size() < kExaminedMax && page.jobs.size() < request.limit;
  if (!ended && examined > 0) page.next = to_hex(found[examined - 1]);
  return {};
}

}  // namespace

std::string time_text(Millis ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

Job to_job(const QueueRecord& queue, const Bytes16& number, const JobRecord& record) {
  return {.queue = queue.name,
          .id = record.id,
          .group = record.group,
          .number = number.mark(),
          .lane = record.lane,
          .priority = record.priority,
          .shard = record.shard,
          .attempts = record.attempts,
          .lapses = record.lapses,
          .enqueued = to_wall(record.enqueued),
          .due = time_or_none(record.due),
          .expires = time_or_none(record.expires),
          .claimed = time_or_none(record.claimed),
          .deadline = time_or_none(record.deadline),
          .finished = record.lane >= Lane::done ? time_or_none(record.finished_at()) : std::nullopt,
          .claims = record.claims,
          .worker = record.worker,
          .reason = record.reason,
          .error = record.error,
          .progress = record.progress,
          .result = record.result,
          .payload_bytes = record.payload_bytes(),
          .retry = record.retry,
          .unique = record.unique && record.unique->held ? record.unique->key : "",
          .batch = record.batch,
          .schedule = record.schedule,
          .planned = planned_of(record)};
}

Result<std::optional<StoredJob>> read_job(kv::Reader& reader, const Keys& keys,
                                          const Bytes16& number) {
  std::optional<StoredJob> found;
  SLUICE_LET(value, reader.get(keys.job(number)));
  if (!value) return found;
  SLUICE_LET(stored, decode_stored_job(*value, number));
  found = std::move(stored);
  return found;
}

Result<FoundJob> find_by_id(kv::Reader& reader, const JobRef& ref) {
  SLUICE_LET(queue, read_queue_or_fail(reader, ref.queue));
  SLUICE_TRY(check_name("job id", ref.id));
  const Keys keys(hash_of(ref.queue));
  SLUICE_LET(value, reader.get(keys.id(ref.id)));
  if (!value) return no_such_job(ref.queue, ref.id);
  if (value->size() != Bytes16::kSize)
    return error(Code::corrupt, fmt::format("the id \"{}\" does not lead to a job", ref.id));
  const Bytes16 number = Bytes16::of(*value);
  SLUICE_LET(stored, read_job(reader, keys, number));
  if (!stored) return error(Code::corrupt, fmt::format("the id \"{}\" leads to no job", ref.id));
  return FoundJob{.queue = std::move(queue), .number = number, .stored = std::move(*stored)};
}

Result<Job> Queues::get(const JobRef& ref, const GetOptions& options) {
  Job job;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, find_by_id(reader, ref));
    const Keys keys(hash_of(ref.queue));
    job = to_job(found.queue, found.number, found.stored.record);
    if (options.payload) {
      SLUICE_LET(payload, read_payload(reader, keys, found.number, found.stored.record));
      job.payload = std::move(payload);
    }
    if (options.history) SLUICE_TRY(read_history(reader, keys, found.number, job));
    if (options.after) SLUICE_TRY(read_after(reader, keys, found.number, job));
    return {};
  }));
  return job;
}

Result<Page> Queues::list(const ListRequest& request) {
  SLUICE_TRY(check_page(request.limit));
  SLUICE_TRY(check_name_or_empty("group name", request.group));
  Page page;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) {
    page = {};
    return list_page(reader, request, page);
  }));
  return page;
}

Result<Counts> Queues::count(std::string_view queue) {
  Counts counts;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_TRY(read_queue_or_fail(reader, queue));
    SLUICE_LET(read, read_counts(reader, Keys(hash_of(queue)), std::nullopt));
    counts = read;
    return {};
  }));
  return counts;
}

Result<Counts> Queues::count(std::string_view queue, std::string_view group) {
  SLUICE_TRY(check_name("group name", group));
  Counts counts;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_TRY(read_queue_or_fail(reader, queue));
    SLUICE_LET(read, read_counts(reader, Keys(hash_of(queue)), hash_of(group)));
    counts = read;
    return {};
  }));
  return counts;
}

Result<std::uint64_t> Queues::count_blocked_groups(std::string_view queue, std::uint64_t limit) {
  std::uint64_t blocked = 0;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    blocked = 0;
    SLUICE_TRY(read_queue_or_fail(reader, queue));
    return reader.scan(Keys(hash_of(queue)).all(Space::blocked), {.limit = limit},
                       [&](std::string_view, std::string_view) {
                         ++blocked;
                         return true;
                       });
  }));
  return blocked;
}

}  // namespace sluice::queue
