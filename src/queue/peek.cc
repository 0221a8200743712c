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
  std::size_t shard = 0;
  friend bool operator<(const Next& a, const Next& b) { return a.spot < b.spot; }
};

class Peek {
 public:
  Peek(kv::Reader& reader, const QueueRecord& queue, Millis now)
      : reader_(reader), queue_(queue), now_(now), keys_(hash_of(queue.name)) {
    for (std::uint32_t shard = 0; shard < queue.config.shards; ++shard)
      shards_.push_back({.rest = keys_.offers(shard)});
  }

  /// Nothing at the end.
  Result<std::optional<Job>> next() {
    std::optional<Job> job;
    while (!job) {
      SLUICE_TRY(look_ahead());
      if (ahead_.empty()) break;
      Next first = *ahead_.begin();
      ahead_.erase(ahead_.begin());
      SLUICE_LET(stored, read_job(reader_, keys_, first.job));
      if (!stored) return error(Code::corrupt, "a ready job does not exist");
      const Millis expires = stored->record.expires;
      SLUICE_LET(dropped, is_dropped(stored->record));
      const bool over = (expires > 0 && expires <= now_) || dropped;
      if (!over) job = to_job(queue_, first.job, stored->record);
      if (!first.in_group) continue;
      // A claim puts such a job away: that takes no slot, and in a fair queue no turn.
      if (over && queue_.config.fair) --first.spot.order;
      if (!over && queue_.config.fair) SLUICE_TRY(end_turn(first));
      if (!over) --first.free_slots;
      if (first.free_slots > 0) SLUICE_TRY(add_group_job(first));
    }
    return job;
  }

 private:
  static constexpr std::size_t kPageOffers = 100;

  /// Whether a claim would cancel it, for its batch was cancelled.
  Result<bool> is_dropped(const JobRecord& record) {
    if (record.batch.empty()) return false;
    SLUICE_LET(value, reader_.get(keys_.batch(record.batch)));
    if (!value) return false;
    SLUICE_LET(batch, decode_batch(*value));
    return batch.cancelled && batch.ended == 0;
  }

  struct ShardOffers {
    kv::Range rest = {};
    std::optional<Spot> last = {};  // Of those that were read.
    bool exhausted = false;
    std::optional<std::int64_t> reached = {};  // The round, in a fair queue.
  };

  /// As a claim does: the group's next round is the one after that which its shard has reached,
  /// not just the one after its own.
  Status end_turn(Next& served) {
    auto& reached = shards_[served.shard].reached;
    if (!reached) {
      SLUICE_LET(round, read_count(reader_, keys_.round(static_cast<std::uint32_t>(served.shard))));
      reached = static_cast<std::int64_t>(round);
    }
    served.spot.order = *reached = std::max(*reached, served.spot.order);
    return {};
  }

  /// Reads offers until none that is still to be read can come before the first one known.
  Status look_ahead() {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      ShardOffers& shard = shards_[i];
      while (!shard.exhausted &&
             (ahead_.empty() || !shard.last || *shard.last < ahead_.begin()->spot)) {
        SLUICE_LET(offers, reader_.scan(shard.rest, {.limit = kPageOffers}));
        for (const auto& offer : offers) SLUICE_TRY(add_offer(i, offer));
        shard.exhausted = offers.size() < kPageOffers;
        if (offers.empty()) break;
        SLUICE_LET(last, read_offer_key(offers.back().key));
        shard.last = last;
        shard.rest.begin = offers.back().key + '\0';
      }
    }
    return {};
  }

  Status add_offer(std::size_t shard, const kv::KeyValue& offer) {
    SLUICE_LET(spot, read_offer_key(offer.key));
    SLUICE_LET(offered, read_offered(offer.value, spot.place));
    if (!offered.is_group) {
      ahead_.insert({.spot = spot, .job = offered.job});
      return {};
    }
    SLUICE_LET(value, reader_.get(keys_.group(offered.group)));
    if (!value) return error(Code::corrupt, "an offer is for a group that does not exist");
    SLUICE_LET(record, decode_group(*value));
    Next next{.spot = spot,
              .group = offered.group,
              .in_group = true,
              .free_slots = UINT64_MAX,
              .shard = shard};
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
  const Millis now_;
  const Keys keys_;
  std::vector<ShardOffers> shards_;
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
    Peek peek(reader, queue, now);
    while (jobs.size() < jobs_max) {
      SLUICE_LET(job, peek.next());
      if (!job) break;
      jobs.push_back(std::move(*job));
    }
    return {};
  }));
  return jobs;
}

}  // namespace sluice::queue
