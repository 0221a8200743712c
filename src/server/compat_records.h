// SPDX-License-Identifier: MIT
// What the compatible API stores: in its jobs, and beside the queues.
#pragma once

#include <sluice/kv.h>
#include <sluice/queue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server {

/// What a pushed job carries.
struct CompatJob {
  std::string data = {};  ///< JSON, the bytes that came.
  bool listenable = false;
  std::optional<std::string> channel = {};
  std::int64_t created_ms = 0;
  std::optional<std::int64_t> times_out_ms = {};
};
std::string encode(const CompatJob& job);
/// `invalid_argument` if the payload is of another kind: a job that was not pushed here.
Result<CompatJob> decode_compat_job(std::string_view payload);

/// What stands for a claim between pop and complete. Clients take it as it is.
struct QueueKey {
  std::string team = {};
  std::string id = {};
  queue::Token token = {};
};
std::string encode(const QueueKey& key);  ///< Base64.
/// `invalid_argument` if it was not made by encode().
Result<QueueKey> decode_queue_key(std::string_view text);

// Keys beside the queues. Names are hashed where they need not be listed, so that two of them fit
// into one key.

/// A claim that is to be found by the job's id alone; its value is a QueueKey.
std::string claim_key(std::string_view id, std::string_view team);
kv::Range claims_of(std::string_view id);
kv::Range all_claims();

/// That a team has, or had, jobs of a crawl; its value is the team and the mark of the last push,
/// so that it differs after every push. In the order of crawls.
std::string crawl_key(std::string_view crawl, std::string_view team);
kv::Range teams_of_crawl(std::string_view crawl);
/// All crawls after this one; empty: all.
kv::Range crawls_after(std::string_view crawl);
Result<std::string> crawl_of(std::string_view key);
std::string_view team_of(std::string_view crawl_value);

/// Markers of active jobs belong to a team or to a crawl.
enum class Owner : std::uint8_t { team = 't', crawl = 'c' };

/// The marker of a job; its value is when it runs out, an encoded time.
std::string marker_key(Owner owner, std::string_view name, std::string_view id);
kv::Range markers_of(Owner owner, std::string_view name);
Result<std::string> marked_id(std::string_view key);
std::string encode_time(std::int64_t ms);
Result<std::int64_t> decode_time(std::string_view bytes);

/// The same marker by the time when it runs out; its value is its marker_key().
std::string marker_time_key(Owner owner, std::string_view name, std::int64_t ms,
                            std::string_view id);
/// Of one owner, those that have run out at `ms`.
kv::Range markers_until(Owner owner, std::string_view name, std::int64_t ms);

/// How many an owner has; a counter.
std::string marker_count_key(Owner owner, std::string_view name);
kv::Range all_marker_counts();
/// The markers_until() of the owner whose counter this is.
Result<kv::Range> markers_until(std::string_view count_key, std::int64_t ms);

}  // namespace sluice::server
