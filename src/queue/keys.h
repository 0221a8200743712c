// SPDX-License-Identifier: MIT
// Every key of the queue layer (docs/format/queue.md).
#pragma once

#include <sluice/job.h>
#include <sluice/kv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/tuple.h"
#include "queue/bytes16.h"

namespace sluice::queue {

/// The first byte of all of them. No tuple begins with it.
inline constexpr char kKeyPrefix = '\xfe';

enum class Space : std::uint8_t {
  header = 1,
  queue = 2,
  queue_name = 3,
  count = 4,
  job = 5,
  payload = 6,
  id = 7,
  offer = 8,
  group_job = 9,
  group = 10,
  group_name = 11,
  group_count = 12,
  blocked = 13,
  scheduled = 14,
  leased = 15,
  rest = 16,
  expiry = 17,
  slot = 18,
  debt = 19,
  bucket = 20,
  attempt = 21,
  operation = 22,
  worker = 23,
  round = 24,
  review = 25,
  claimer = 26,
  agenda = 32,
  unique = 33,
  after = 34,
  dependant = 35,
  batch = 36,
  batch_count = 37,
  member = 38,
  schedule = 39,
  event = 40,
  event_count = 41,
  trimmed = 42,
};

/// What an entry of the agenda asks for (docs/design/flows.md).
enum class Errand : std::uint8_t {
  fire = 1,
  release = 2,
  drop = 3,
  check = 4,
  free = 5,
  forget = 6
};

/// The counters of a batch.
enum class BatchCount : std::uint8_t { total = 1, done = 2, dead = 3, dropped = 4 };
inline constexpr std::size_t kBatchCounts = 4;

/// Milliseconds of store time since 1970, as stored.
using Millis = std::uint64_t;

std::string header_key();
std::string queue_name_key(std::string_view name);
std::string worker_key(std::string_view name);
/// All keys of a space, or of a tuple that was begun.
kv::Range space_range(Space space);
kv::Range range_under(const std::string& prefix);

/// The tuple of a key without its first byte, ready to be read after the space's number.
Result<codec::TupleReader> read_key(std::string_view key, Space space);

/// The keys of one queue.
class Keys {
 public:
  explicit Keys(const Bytes16& queue);

  std::string queue() const { return begin(Space::queue).take(); }
  std::string count(Lane lane) const { return begin(Space::count).number(number(lane)).take(); }
  std::string job(const Bytes16& job) const { return begin(Space::job).mark(job.view()).take(); }
  codec::StampedTuple new_job() const { return begin(Space::job).stamp().take_stamped(); }
  std::string payload(const Bytes16& job, std::size_t n) const {
    return begin(Space::payload).mark(job.view()).number(n).take();
  }
  codec::StampedTuple new_payload(std::size_t n) const {
    return begin(Space::payload).stamp().number(n).take_stamped();
  }
  std::string id(std::string_view id) const { return begin(Space::id).string(id).take(); }

  /// `order` is a priority, or in a fair queue a round.
  std::string offer(std::uint32_t shard, std::int64_t order, const Bytes16& place) const {
    return begin(Space::offer).number(shard).number(order).mark(place.view()).take();
  }
  codec::StampedTuple new_offer(std::uint32_t shard, std::int64_t order) const {
    return begin(Space::offer).number(shard).number(order).stamp().take_stamped();
  }
  kv::Range offers(std::uint32_t shard) const;

  std::string group_job(const Bytes16& group, std::int32_t priority, const Bytes16& place) const {
    return begin(Space::group_job).mark(group.view()).number(priority).mark(place.view()).take();
  }
  codec::StampedTuple new_group_job(const Bytes16& group, std::int32_t priority) const {
    return begin(Space::group_job).mark(group.view()).number(priority).stamp().take_stamped();
  }
  kv::Range group_jobs(const Bytes16& group) const;
  std::string group(const Bytes16& group) const {
    return begin(Space::group).mark(group.view()).take();
  }
  std::string group_name(std::string_view name) const {
    return begin(Space::group_name).string(name).take();
  }
  std::string group_count(const Bytes16& group, Lane lane) const {
    return begin(Space::group_count).mark(group.view()).number(number(lane)).take();
  }
  kv::Range group_counts(const Bytes16& group) const;
  std::string blocked(const Bytes16& group) const {
    return begin(Space::blocked).mark(group.view()).take();
  }

  /// Of the spaces scheduled, leased, expiry.
  std::string timed(Space space, std::uint32_t shard, Millis at, const Bytes16& job) const {
    return begin(space).number(shard).number(at).mark(job.view()).take();
  }
  codec::StampedTuple new_timed(Space space, std::uint32_t shard, Millis at) const {
    return begin(space).number(shard).number(at).stamp().take_stamped();
  }
  /// The entries of a shard whose time is at most `until`.
  kv::Range timed_until(Space space, std::uint32_t shard, Millis until) const;
  kv::Range timed_all(Space space, std::uint32_t shard) const;

  std::string rest(Lane lane, Millis since, const Bytes16& job) const {
    return begin(Space::rest).number(number(lane)).number(since).mark(job.view()).take();
  }
  codec::StampedTuple new_rest(Lane lane, Millis since) const {
    return begin(Space::rest).number(number(lane)).number(since).stamp().take_stamped();
  }
  kv::Range rest_all(Lane lane) const;
  kv::Range rest_until(Lane lane, Millis until) const;

  /// Named after the lease that gave it back; a job may give back several.
  std::string slot(std::uint32_t shard, const Bytes16& job, std::uint64_t claim) const {
    return begin(Space::slot).number(shard).mark(job.view()).number(claim).take();
  }
  kv::Range slots(std::uint32_t shard) const;
  std::string debt() const { return begin(Space::debt).take(); }
  std::string bucket() const { return begin(Space::bucket).take(); }
  std::string attempt(const Bytes16& job, std::uint64_t claim) const {
    return begin(Space::attempt).mark(job.view()).number(claim).take();
  }
  kv::Range attempts(const Bytes16& job) const;
  std::string operation(std::uint64_t hour, std::string_view id) const {
    return begin(Space::operation).number(hour).string(id).take();
  }
  kv::Range operations_before(std::uint64_t hour) const;
  std::string round(std::uint32_t shard) const { return begin(Space::round).number(shard).take(); }
  std::string review() const { return begin(Space::review).take(); }
  std::string claimer(const Bytes16& process) const {
    return begin(Space::claimer).mark(process.view()).take();
  }

  std::string agenda(Millis at, Errand errand, std::string_view subject) const {
    return begin(Space::agenda).number(at).number(number(errand)).string(subject).take();
  }
  kv::Range agenda_until(Millis until) const;
  std::string unique(std::string_view key) const { return begin(Space::unique).string(key).take(); }

  /// `queue` and `id` are the hashes of what the job waits for.
  std::string after(const Bytes16& job, const Bytes16& queue, const Bytes16& id) const {
    return begin(Space::after).mark(job.view()).mark(queue.view()).mark(id.view()).take();
  }
  codec::StampedTuple new_after(const Bytes16& queue, const Bytes16& id) const {
    return begin(Space::after).stamp().mark(queue.view()).mark(id.view()).take_stamped();
  }
  kv::Range afters(const Bytes16& job) const;
  /// `queue` and `id` are of the job that waits for this one. By id: those that come one after
  /// another are neighbours.
  std::string dependant(const Bytes16& job, AfterPolicy policy, const Bytes16& queue,
                        std::string_view id) const {
    return begin(Space::dependant)
        .mark(job.view())
        .number(number(policy))
        .mark(queue.view())
        .string(id)
        .take();
  }
  codec::StampedTuple new_dependant(AfterPolicy policy, const Bytes16& queue,
                                    std::string_view id) const {
    return begin(Space::dependant)
        .stamp()
        .number(number(policy))
        .mark(queue.view())
        .string(id)
        .take_stamped();
  }
  kv::Range dependants(const Bytes16& job, AfterPolicy policy) const;

  std::string batch(std::string_view id) const { return begin(Space::batch).string(id).take(); }
  std::string batch_count(std::string_view id, BatchCount count) const {
    return begin(Space::batch_count).string(id).number(number(count)).take();
  }
  std::string member(std::string_view batch, const Bytes16& job) const {
    return begin(Space::member).string(batch).mark(job.view()).take();
  }
  codec::StampedTuple new_member(std::string_view batch) const {
    return begin(Space::member).string(batch).stamp().take_stamped();
  }
  kv::Range members(std::string_view batch) const;
  std::string schedule(std::string_view name) const {
    return begin(Space::schedule).string(name).take();
  }

  std::string event(std::uint32_t shard, const Bytes16& place) const {
    return begin(Space::event).number(shard).mark(place.view()).take();
  }
  codec::StampedTuple new_event(std::uint32_t shard) const {
    return begin(Space::event).number(shard).stamp().take_stamped();
  }
  kv::Range events(std::uint32_t shard) const;
  std::string event_count(std::uint32_t shard) const {
    return begin(Space::event_count).number(shard).take();
  }
  std::string trimmed(std::uint32_t shard) const {
    return begin(Space::trimmed).number(shard).take();
  }
  /// Every key of this queue in a space.
  kv::Range all(Space space) const;

 private:
  codec::TupleWriter begin(Space space) const {
    Head head = head_;
    head[kSpaceAt] = static_cast<char>(space);
    return codec::TupleWriter({head.data(), head.size()});
  }
  template <class Enum>
  static std::uint8_t number(Enum value) {
    return static_cast<std::uint8_t>(value);
  }

  /// The first byte, a space's number and the queue: what every key begins with, encoded once.
  static constexpr std::size_t kSpaceAt = 2;
  using Head = std::array<char, kSpaceAt + 1 + 1 + Bytes16::kSize>;
  Head head_;
};

/// What the value of an offer or a group job names: a job (perhaps the one of its place) or a
/// group.
struct Offered {
  Bytes16 job = {};
  Bytes16 group = {};
  bool is_group = false;
};
std::string group_value(const Bytes16& group);
/// `corrupt` if the value is none of the three forms.
Result<Offered> read_offered(std::string_view value, const Bytes16& place);

/// (priority or round, place) of an offer's or a group job's key, which are its last two elements.
struct Spot {
  std::int64_t order = 0;
  Bytes16 place = {};
  friend auto operator<=>(const Spot&, const Spot&) = default;
};
Result<Spot> read_offer_key(std::string_view key);
Result<Spot> read_group_job_key(std::string_view key);

/// (time, job) of a timed key, or of a rest key.
struct Timed {
  Millis at = 0;
  Bytes16 job = {};
};
Result<Timed> read_timed_key(Space space, std::string_view key);

}  // namespace sluice::queue
