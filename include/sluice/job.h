// SPDX-License-Identifier: MIT
// What the queue layer talks about: jobs and the lanes they are in, leases and their tokens, the
// settings of a queue, and every limit. sluice/queue.h has the verbs.
#pragma once

#include <sluice/clock.h>
#include <sluice/kv.h>
#include <sluice/result.h>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::queue {

// ---------------------------------------------------------------------------------------- limits
// One past a limit is `invalid_argument` and has no effect, except where it says otherwise.

/// Names of queues and groups, job ids, worker names, operation ids, labels: 1 to this many bytes
/// of UTF-8.
inline constexpr std::size_t kNameBytesMax = 256;
inline constexpr std::size_t kPayloadBytesMax = std::size_t{2} << 20;
inline constexpr std::size_t kResultBytesMax = 64'000;
/// A longer error or progress text is cut to this, at the end of a character.
inline constexpr std::size_t kTextBytesMax = 4'096;
inline constexpr Duration kDelayMax = std::chrono::hours(24 * 3660);
inline constexpr Duration kLeaseMin = std::chrono::milliseconds(1);
inline constexpr Duration kLeaseMax = std::chrono::hours(24 * 7);
/// A batch up to both of these is one transaction; a larger one is split (see Queues::enqueue).
inline constexpr std::size_t kBatchJobsMax = 1'000;
inline constexpr std::size_t kBatchBytesMax = std::size_t{1} << 20;
/// Jobs per claim. A claim also ends early once its payloads pass kClaimBytesMax.
inline constexpr std::size_t kClaimJobsMax = 1'000;
inline constexpr std::size_t kClaimBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kClaimQueuesMax = 64;
inline constexpr std::size_t kSkipGroupsMax = 1'000;
inline constexpr std::uint32_t kShardsMax = 256;
/// The highest limit on the active jobs of a whole queue.
inline constexpr std::uint32_t kActiveMax = 10'000;
inline constexpr std::uint32_t kAttemptsMax = 1'000'000;
inline constexpr std::size_t kLabelsMax = 32;
/// The attempts of a job that its history keeps.
inline constexpr std::size_t kHistoryMax = 20;
inline constexpr std::size_t kPageMax = 1'000;
/// An operation id is remembered for at least this long, and at most twice as long.
inline constexpr Duration kOperationWindow = std::chrono::hours(1);
/// Dependencies named by one call.
inline constexpr std::size_t kAfterMax = 1'000;
/// A finished job that others were waiting for is kept at least for this long.
inline constexpr Duration kParentKept = std::chrono::hours(1);
/// Expired leases and due jobs that one claim moves on the way, each.
inline constexpr std::size_t kClaimMovesMax = 64;

// ------------------------------------------------------------------------------------------ jobs

/// Where a job is. It is in exactly one lane at a time. The numbers are stored.
enum class Lane : std::uint8_t {
  waiting = 1,    ///< For other jobs to finish.
  held = 2,       ///< Put aside by hand until it is unheld.
  scheduled = 3,  ///< Until its due time: a delayed job, or a retry that waits out its backoff.
  ready = 4,      ///< May be claimed.
  leased = 5,     ///< A worker has it.
  done = 6,       ///< Acked; kept for the queue's retention.
  dead = 7,       ///< Given up, with a reason.
  cancelled = 8,  ///< By somebody's wish; kept like done.
};
inline constexpr std::size_t kLaneCount = 8;
const char* lane_name(Lane lane);
std::optional<Lane> lane_from_name(std::string_view name);

/// Why a job is dead.
enum class DeathReason : std::uint8_t {
  none = 0,
  attempts = 1,  ///< Its last allowed attempt failed.
  poison = 2,    ///< Its lease lapsed too often: it seems to take its workers down with it.
  expired = 3,   ///< Nobody claimed it within its time to live.
  refused = 4,   ///< A worker failed it for good (FailRequest::dead).
  orphaned = 5,  ///< A job that it waited for was removed without having succeeded.
};
const char* reason_name(DeathReason reason);

/// How often a job is tried, and how long it waits in between: after attempt n it waits
/// base * factor^(n - 1), at most `cap`, less up to the share `jitter` of it by chance.
struct RetryPolicy {
  std::uint32_t attempts_max = 3;  ///< 1 to kAttemptsMax.
  Duration base = std::chrono::seconds(2);
  double factor = 2;
  Duration cap = std::chrono::minutes(5);
  double jitter = 0;
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// What an enqueue does that finds its unique key taken.
enum class UniquePolicy : std::uint8_t {
  reject = 1,   ///< `already_exists`.
  keep = 2,     ///< Nothing; it answers the id of the job that holds the key.
  replace = 3,  ///< Cancels that job, if it has not been claimed yet; else `already_exists`.
};

/// A key that one job of the queue holds at a time: while it is in one of `lanes`, and anyway until
/// `window` after its enqueue, however it ended.
struct Unique {
  std::string key = {};
  /// Without Lane::leased: until it is claimed. Empty: for the window only.
  std::vector<Lane> lanes = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready, Lane::leased};
  Duration window = {};
  UniquePolicy policy = UniquePolicy::reject;
  friend bool operator==(const Unique&, const Unique&) = default;
};

/// What a job makes of another that it waits for and that is dead or cancelled.
enum class AfterPolicy : std::uint8_t {
  success = 1,  ///< Goes on waiting: the other may be requeued and succeed. Once that one is
                ///< removed it is dead (orphaned).
  end = 2,      ///< Runs anyway.
  cancel = 3,   ///< Is cancelled.
};
const char* policy_name(AfterPolicy policy);

/// A job that another one waits for. It was enqueued before, or earlier in the same transaction.
struct After {
  std::string queue = {};  ///< Empty: the waiting job's own.
  std::string id = {};
  AfterPolicy policy = AfterPolicy::success;
  friend bool operator==(const After&, const After&) = default;
};

/// A job to be. Only `queue` is required.
struct NewJob {
  std::string queue = {};  ///< Made with the default settings if it does not exist.
  std::string id = {};     ///< Unique in its queue; empty: a ULID is generated.
  std::string group = {};  ///< Shares a limit with the other jobs of its group; empty: none.
  std::string payload = {};
  std::optional<std::int32_t> priority = {};  ///< Lower runs first. Default: the queue's.
  std::string label = {};                     ///< Instead of a number: one of the queue's labels.
  Duration delay = {};                        ///< Not before this much from now.
  std::optional<WallTime> due = {};           ///< Not before this instant; instead of `delay`.
  Duration ttl = {};                      ///< Dead (expired) if not claimed within this; 0: never.
  std::optional<RetryPolicy> retry = {};  ///< Default: the queue's, as it is when an attempt ends.
  bool hold = false;                      ///< Starts in the lane `held`.
  std::optional<Unique> unique = {};
  std::vector<After> after = {};  ///< Waits for all of these; at most kAfterMax.
  std::string batch = {};         ///< Of the same queue, and open.
};

/// Proof of one claim: the job's number (the mark of its enqueue) and how many claims it has seen.
/// Tokens of one job increase with every claim, also over a later job of the same id, so that a
/// handler can pass one on as a fence.
struct Token {
  kv::Mark job = {};
  std::uint64_t claim = 0;

  std::string to_string() const;  ///< 48 hex digits, which sort as tokens do.
  static Result<Token> parse(std::string_view text);
  friend auto operator<=>(const Token&, const Token&) = default;
};

/// A job in the hands of a worker.
struct Lease {
  std::string queue = {};
  std::string id = {};
  std::string group = {};
  std::string payload = {};
  Token token = {};
  WallTime deadline = {};     ///< Store time; the lease is held while it is earlier than this.
  std::uint32_t attempt = 0;  ///< 1 for the first.
  std::int32_t priority = 0;
  std::string batch = {};
  std::string schedule = {};             ///< The schedule that enqueued it,
  std::optional<WallTime> planned = {};  ///< and for which time.
};

/// How an attempt ended.
enum class Outcome : std::uint8_t { acked = 1, failed = 2, lapsed = 3, broken = 4, cancelled = 5 };
const char* outcome_name(Outcome outcome);

struct Attempt {
  std::uint64_t claim = 0;  ///< Of the token it ran under.
  std::uint32_t number = 0;
  WallTime started = {};
  WallTime ended = {};
  std::string worker = {};
  Outcome outcome = Outcome::acked;
  std::string error = {};
};

/// Everything there is to know about a job.
struct Job {
  std::string queue = {};
  std::string id = {};
  std::string group = {};
  kv::Mark number = {};
  Lane lane = Lane::ready;
  std::int32_t priority = 0;
  std::uint32_t shard = 0;
  std::uint32_t attempts = 0;  ///< Begun and not given back by release.
  std::uint32_t lapses = 0;
  WallTime enqueued = {};
  std::optional<WallTime> due = {};       ///< If it was ever delayed.
  std::optional<WallTime> expires = {};   ///< If it has a time to live.
  std::optional<WallTime> claimed = {};   ///< In the lane leased.
  std::optional<WallTime> deadline = {};  ///< In the lane leased.
  std::optional<WallTime> finished = {};  ///< In the lanes done, dead, cancelled.
  std::uint64_t claims = 0;
  std::string worker = {};  ///< Who has it, or had it last.
  DeathReason reason = DeathReason::none;
  std::string error = {};     ///< Of the last attempt that failed.
  std::string progress = {};  ///< As the worker last said.
  std::string result = {};    ///< In the lane done.
  std::size_t payload_bytes = 0;
  std::optional<std::string> payload = {};  ///< If asked for.
  std::optional<RetryPolicy> retry = {};    ///< If it has one of its own.
  std::string unique = {};                  ///< Its unique key, if it holds one now.
  std::string batch = {};
  std::string schedule = {};             ///< The schedule that enqueued it,
  std::optional<WallTime> planned = {};  ///< and for which time.
  std::vector<After> after = {};         ///< If asked for: up to kAfterMax that it waits for.
  std::vector<Attempt> history = {};     ///< If asked for; the last kHistoryMax, oldest first.
};

// ---------------------------------------------------------------------------------------- queues

struct Label {
  std::string name = {};
  std::int32_t priority = 0;
  friend bool operator==(const Label&, const Label&) = default;
};

/// So many claims per so much time, of which up to `burst` are saved up while nobody claims.
struct Rate {
  std::uint64_t jobs = 1;
  Duration per = std::chrono::seconds(1);
  std::uint64_t burst = 1;
  friend bool operator==(const Rate&, const Rate&) = default;
};

/// The settings of a queue. A limit that is not set does not exist; one that is 0 lets nothing
/// through.
struct QueueConfig {
  std::int32_t priority = 5;  ///< Of jobs that name none.
  std::vector<Label> labels = {{"high", 0}, {"normal", 5}, {"low", 10}};
  Duration lease = std::chrono::seconds(60);  ///< Of claims that name none.
  RetryPolicy retry = {};
  std::uint32_t lapses_max = 5;  ///< A job whose lease lapsed so often is dead (poison).
  Duration done_retention = {};  ///< How long done and cancelled jobs are kept; 0: not at all.
  /// How long dead jobs are kept; Duration::max(): until they are purged.
  Duration dead_retention = Duration::max();
  std::optional<std::uint32_t> active_max = {};   ///< Leased jobs of the queue, to kActiveMax.
  std::optional<std::uint32_t> group_max = {};    ///< Leased jobs of each group with no own limit.
  std::optional<std::uint64_t> backlog_max = {};  ///< Jobs waiting, held, scheduled and ready.
  std::optional<Rate> rate = {};
  /// The two that shape the order change only while no job is unfinished (`conflict`).
  /// Order is exact within a shard. Several shards let several processes claim at once.
  std::uint32_t shards = 1;
  /// Groups take turns; priority counts within a group. Jobs without a group are one group.
  bool fair = false;
  bool events = true;  ///< Whether its jobs' moves are written to its stream of events.
  friend bool operator==(const QueueConfig&, const QueueConfig&) = default;
};

struct Queue {
  std::string name = {};
  QueueConfig config = {};
  bool paused = false;
  WallTime created = {};
};

struct Group {
  std::string name = {};
  std::optional<std::uint32_t> limit = {};  ///< Its own, if it was given one.
};

/// Jobs per lane. Exact at every commit.
struct Counts {
  std::uint64_t waiting = 0;
  std::uint64_t held = 0;
  std::uint64_t scheduled = 0;
  std::uint64_t ready = 0;
  std::uint64_t leased = 0;
  std::uint64_t done = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;

  std::uint64_t& of(Lane lane);
  std::uint64_t of(Lane lane) const;
  std::uint64_t backlog() const { return waiting + held + scheduled + ready; }
  std::uint64_t total() const { return backlog() + leased + done + dead + cancelled; }
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// A worker process, as it registered itself.
struct Worker {
  std::string name = {};
  std::string host = {};
  std::uint64_t pid = 0;
  std::uint32_t slots = 0;
  std::vector<std::string> queues = {};
  WallTime started = {};
  WallTime seen = {};
  WallTime expires = {};  ///< Forgotten by then, unless it is seen again.
};

}  // namespace sluice::queue
