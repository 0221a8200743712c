// SPDX-License-Identifier: MIT
// How much is forwarded to upstream trackers, and how fast.
#pragma once

#include <sluice/backoff.h>
#include <sluice/clock.h>
#include <sluice/result.h>
#include <sluice/runtime/breaker.h>
#include <sluice/token_bucket.h>

#include <chrono>
#include <cstdint>

namespace sluice::tracker {

/// Who is announced upstream.
enum class AnnounceMode : std::uint8_t {
  peer,  ///< Every local peer of a torrent.
  hash,  ///< Whichever of them comes when the torrent is due.
};

/// The capacity of a queue that is given none.
inline constexpr std::int64_t kQueueCapacityFallback = 1'000;
/// A `retry in` of so long or more is no retry, but the next announce.
inline constexpr std::chrono::minutes kRetryMax{10};

/// Of a job.
inline constexpr std::uint32_t kAttemptsMax = 255;

struct ForwardOptions {
  AnnounceMode mode = AnnounceMode::peer;

  std::int64_t queue_capacity = 10'000;  ///< Ready jobs; 0 or less: kQueueCapacityFallback.
  /// A scheduled job that finds the queue full comes again so much later.
  Duration full_delay = std::chrono::seconds(10);
  std::uint32_t upstreams_per_announce_max = 100;
  std::uint32_t throttle_pct = 60;    ///< From this fill on fewer upstreams are told:
  std::uint32_t throttle_top_n = 20;  ///< so many; 0: no fewer.

  /// A slot is for one request in flight. Each `scale_every` there is one more while the queue is
  /// filled to scale_up_pct, one less while it is filled below scale_down_pct.
  std::uint32_t slots_base = 1'024;
  std::uint32_t slots_max = 4'096;  ///< 0: twice the base.
  std::uint32_t scale_up_pct = 60;
  std::uint32_t scale_down_pct = 40;
  Duration scale_every = std::chrono::seconds(1);
  std::uint32_t in_flight_max = 16;  ///< Of one upstream.
  /// Of one that has not answered yet, or not the last time: those that are dead hold few slots.
  std::uint32_t in_flight_unproven_max = 4;
  BucketLimit upstream_rate = {.tokens = 100, .per = std::chrono::seconds(1), .burst = 100};

  /// The local client hears of a full queue. Then nobody is put out of the queue for another.
  bool refuse_when_full = false;
  std::uint32_t refuse_pct = 80;  ///< From this fill on a first announce needs a token.
  BucketLimit first_rate = {.tokens = 100, .per = std::chrono::seconds(1), .burst = 200};
  Duration retry_period = std::chrono::seconds(300);  ///< What a refused client is told.

  Duration timeout = std::chrono::seconds(30);
  std::uint32_t attempts_max = 5;  ///< Of a job, while the upstream is unreachable or busy.
  BackoffPolicy retry = {.base = std::chrono::milliseconds(500), .jitter = 0.1};
  /// Between announces of a torrent that an upstream refuses, or of a peer that it did not answer.
  BackoffPolicy refusal = {.base = std::chrono::seconds(60), .cap = std::chrono::hours(1)};
  Duration suspend = std::chrono::seconds(300);  ///< A busy upstream that names no time.
  runtime::BreakerPolicy breaker = {.failures_in_row = 10};

  Duration interval_default = std::chrono::seconds(1'800);  ///< An upstream that names none.
  Duration interval_min = std::chrono::seconds(60);
  Duration interval_max = std::chrono::hours(24);  ///< Of whatever time an upstream names.
  double interval_jitter = 0.1;                    ///< A share that is added by chance.

  /// An upstream that is removed hears for so long that its peers have stopped.
  Duration farewell = std::chrono::minutes(5);
  Duration peers_age = std::chrono::hours(1);  ///< An upstream's peers are kept so long.
  std::uint32_t peers_max = 200;               ///< Of one answer and family.
};

/// invalid_argument, naming the member and what is allowed.
Status validate(const ForwardOptions& options);

}  // namespace sluice::tracker
