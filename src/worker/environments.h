// SPDX-License-Identifier: MIT
// The environments that jobs were enqueued with. Thousands of jobs share one, so each is kept once,
// under a name made from its content, and a job refers to it (Command::environment).
#pragma once

#include <sluice/clock.h>
#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::worker {

/// "NAME=value", any bytes but NUL.
using Environment = std::vector<std::string>;

/// What a kept environment may take, all of its lines together.
inline constexpr std::size_t kEnvironmentBytesMax = 90'000;

/// The id that an environment is kept under: 16 bytes. `invalid_argument` if it is too large.
Result<std::string> environment_id(const Environment& environment);

/// Makes sure that the environment is kept when `txn` commits, for jobs that the same transaction
/// enqueues. Writes only if it is new, or has not been used for a while.
Status keep_environment(kv::Transaction& txn, std::string_view id, const Environment& environment,
                        WallTime now);

/// The environment of that id; `not_found` if it is not kept.
Result<Environment> get_environment(kv::Store& store, std::string_view id);

/// Removes those that are not in `used` and were last enqueued with before `before`, which must be
/// at least kEnvironmentUse before the moment that `used` was begun to be gathered: jobs that were
/// enqueued meanwhile have then marked theirs. Returns how many went.
inline constexpr Duration kEnvironmentUse = std::chrono::hours(1);
Result<std::uint64_t> drop_environments(kv::Store& store, const std::set<std::string>& used,
                                        WallTime before);

/// Remembers the environments that a worker's jobs asked for last.
class EnvironmentCache {
 public:
  explicit EnvironmentCache(kv::Store& store) : store_(store) {}
  /// The empty id is the empty environment.
  Result<std::shared_ptr<const Environment>> get(const std::string& id);

 private:
  static constexpr std::size_t kKept = 64;

  kv::Store& store_;
  std::map<std::string, std::shared_ptr<const Environment>> known_;
};

}  // namespace sluice::worker
