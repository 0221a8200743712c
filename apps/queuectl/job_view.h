// SPDX-License-Identifier: MIT
// A job as people see it: the states of the command line, its command, how its last run ended.
#pragma once

#include <sluice/queue.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/look.h"
#include "codec/json.h"
#include "worker/command.h"
#include "worker/report.h"

namespace sluice::cli {

/// In the order in which a listing shows them.
enum class State : std::uint8_t {
  processing,
  pending,
  failed,     ///< Waits out its backoff.
  scheduled,  ///< Waits for its time.
  waiting,    ///< For other jobs.
  held,
  dead,
  completed,
  cancelled,
};
inline constexpr std::size_t kStateCount = 9;
std::string_view state_name(State state);
/// `invalid_argument` says which there are.
Result<State> parse_state(std::string_view name);
Style state_style(State state);
/// The lane that holds all jobs of a state (and, for two of them, those of another one too).
queue::Lane lane_of(State state);
State state_of(const queue::Job& job);

struct JobView {
  queue::Job job = {};
  State state = State::pending;
  /// Nothing: another program enqueued the job, with a payload of its own.
  std::optional<worker::Command> command = {};
  /// Of the last run that ended.
  std::optional<worker::Report> report = {};

  /// One line; the payload's beginning if it is no command.
  std::string line() const;
  std::uint32_t max_retries() const;
  std::optional<int> exit_code() const;
  /// Why the last run failed, or the job is dead; empty if neither.
  std::string last_error() const;
  WallTime updated() const;
};

/// `job` must have been read with its payload.
JobView view(queue::Job job);

/// Writes the object of a job; `more` adds members to it.
void write_json(codec::json::Writer& writer, const JobView& view,
                const std::function<void()>& more = {});

/// Without the prefix that all workers of this program have in common.
std::string short_worker(std::string_view worker);

}  // namespace sluice::cli
