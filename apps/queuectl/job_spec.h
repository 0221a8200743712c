// SPDX-License-Identifier: MIT
// What a user says about a new job, in options or in JSON, and the job that comes of it.
#pragma once

#include <sluice/clock.h>
#include <sluice/queue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "codec/json.h"
#include "queuectl/config.h"
#include "worker/command.h"
#include "worker/environments.h"

namespace sluice::cli {

/// All options are optional: what is not said comes from the settings.
struct JobSpec {
  std::string text = {};
  std::vector<std::string> argv = {};
  std::optional<std::string> id = {};
  std::optional<std::string> queue = {};
  std::optional<std::int32_t> priority = {};
  std::optional<Duration> delay = {};
  std::optional<WallTime> at = {};
  std::optional<Duration> timeout = {};
  std::optional<Duration> kill_after = {};
  std::optional<std::uint32_t> max_retries = {};
  std::optional<double> backoff_base = {};
  std::optional<Duration> ttl = {};
  std::vector<std::string> after = {};
  std::vector<std::string> after_any = {};
  std::optional<std::uint32_t> slots = {};
  std::vector<std::string> set = {};
  bool clean_env = false;
  bool hold = false;
  std::optional<std::string> cwd = {};
  std::optional<std::string> label = {};
  std::optional<std::string> group = {};
  std::optional<std::string> dedup_key = {};
  std::vector<std::uint8_t> retry_on = {};
  std::vector<std::uint8_t> no_retry_on = {};
  std::optional<std::string> on_done = {};
  std::optional<std::int64_t> index = {};
  /// Of a job that was exported or listed; a new job begins anew whatever it says.
  std::optional<std::string> state = {};
};

/// The options of `enqueue` that say something about a job; also those of `schedule add`.
std::vector<Option> job_options();
Result<JobSpec> spec_of(const Arguments& arguments, WallTime now);

/// Reads the members of a JSON object over `spec`, which holds what the options say. Unknown names,
/// wrong types and values that make no sense are `invalid_argument`.
Status read_json(const codec::json::Value& object, WallTime now, JobSpec& spec);

/// The settings that a new job takes over, read once for many.
struct JobDefaults {
  std::uint32_t max_retries = 3;
  double backoff_base = 2;
  Duration backoff_max = {};
  double backoff_jitter = 0;
  Duration timeout = {};
  Duration kill_after = {};
  std::string cwd = {};                  ///< Of this process.
  worker::Environment environment = {};  ///< Of this process.
  std::string environment_id = {};
};
Result<JobDefaults> job_defaults(const Config& config);

/// Checked as far as that goes without the store.
Result<queue::NewJob> new_job(const JobSpec& spec, const JobDefaults& defaults);

/// "1-100%4": indexes 1 to 100, at most 4 at once.
struct ArraySpec {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::optional<std::uint32_t> at_once = {};
};
inline constexpr std::int64_t kArrayMax = 100'000;
Result<ArraySpec> parse_array(std::string_view text);

}  // namespace sluice::cli
