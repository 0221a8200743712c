// SPDX-License-Identifier: MIT
// Queues::peek: the order of claims, without claiming.
#include <algorithm>
#include <set>

#include "queue/checks.h"
#include "queue/group.h"
#include "queue/look.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

/// A job or a group's next job, in the order of claims.
struct Next {
  Spot spot = {};  // As offers are ordered: by priority and place, or by round and group.
  Bytes16 job = {};
  Bytes16 group = {};
  bool in_group = false;
  Spot in_group_at = {};
  std::uint64_t free_slots = 0;  // Of the group, this job's included.
  friend bool operator<(const Next& a, const Next& b) { return a.spot < b.spot; }
};

class Peek {
 public:
  Peek(kv::Reader& reader, const QueueRecord& queue)
      : reader_(reader), queue_(queue), keys_(hash_of(queue.name)) {}

  Status open(std::size_t limit) {
    for (std::uint32_t shard = 0; shard < queue_.config.shards; ++shard) {
      SLUICE_LET(offers, reader_.scan(keys_.offers(shard), {.limit = limit}));
      for (const auto& offer : offers) SLUICE_TRY(add_offer(offer));
    }
    return {};
  }

  /// Nothing at the end.
  Result<std::optional<Bytes16>> next() {
    std::optional<Bytes16> job;
    if (ahead_.empty()) return job;
    Next first = *ahead_.begin();
    ahead_.erase(ahead_.begin());
    job = first.job;
    if (first.in_group && --first.free_slots > 0) SLUICE_TRY(add_group_job(first));
    return job;
  }

 private:
  Status add_offer(const kv::KeyValue& offer) {
    SLUICE_LET(spot, read_offer_key(offer.key));
    SLUICE_LET(offered, read_offered(offer.value, spot.place));
    if (!offered.is_group) {
      ahead_.insert({.spot = spot, .job = offered.job});
      return {};
    }
    SLUICE_LET(value, reader_.get(keys_.group(offered.group)));
    if (!value) return error(Code::corrupt, "an offer is for a group that does not exist");
    SLUICE_LET(record, decode_group(*value));
    Next next{.spot = spot, .group = offered.group, .in_group = true, .free_slots = UINT64_MAX};
    const auto limit = record.limit ? record.limit : queue_.config.group_max;
    if (limit && !record.name.empty()) {
      SLUICE_LET(active, read_count(reader_, keys_.group_count(offered.group, Lane::leased)));
      next.free_slots = active < *limit ? *limit - active : 0;
    }
    if (next.free_slots == 0) return {};  // The limit was lowered; a claim will notice too.
    if (queue_.config.fair) --next.spot.order;
    return add_group_job(next);
  }

  /// The group's job after the one that `before` tells of.
  Status add_group_job(Next before) {
    kv::Range range = keys_.group_jobs(before.group);
    if (!before.in_group_at.place.zero())
      range.begin =
          keys_.group_job(before.group, static_cast<std::int32_t>(before.in_group_at.order),
                          before.in_group_at.place) +
          '\0';
    SLUICE_LET(entries, reader_.scan(range, {.limit = 1}));
    if (entries.empty()) return {};
    SLUICE_LET(spot, read_group_job_key(entries[0].key));
    SLUICE_LET(offered, read_offered(entries[0].value, spot.place));
    before.job = offered.job;
    before.in_group_at = spot;
    if (queue_.config.fair)
      ++before.spot.order;
    else
      before.spot = spot;
    ahead_.insert(before);
    return {};
  }

  kv::Reader& reader_;
  const QueueRecord& queue_;
  const Keys keys_;
  std::multiset<Next> ahead_;
};

}  // namespace

Result<std::vector<Job>> Queues::peek(std::string_view name, std::size_t limit) {
  SLUICE_TRY(check_page(limit));
  std::vector<Job> jobs;
  const Millis now = to_millis(store_.now());
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    jobs.clear();
    SLUICE_LET(queue, read_queue_or_fail(reader, name));
    const Keys keys(hash_of(name));
    std::size_t jobs_max = limit;
    if (queue.config.active_max) {
      SLUICE_LET(slots, reader.scan(keys.all(Space::slot), {.limit = limit}));
      jobs_max = slots.size();
    }
    Peek peek(reader, queue);
    SLUICE_TRY(peek.open(limit));
    while (jobs.size() < jobs_max) {
      SLUICE_LET(number, peek.next());
      if (!number) break;
      SLUICE_LET(stored, read_job(reader, keys, *number));
      if (!stored) return error(Code::corrupt, "a ready job does not exist");
      const Millis expires = stored->record.expires;
      if (expires == 0 || expires > now) jobs.push_back(to_job(queue, *number, stored->record));
    }
    return {};
  }));
  return jobs;
}

}  // namespace sluice::queue
