// SPDX-License-Identifier: MIT
// What a job of the command line is made of: the command, where and with what it runs, and what
// happens around it. It is the payload of the job, so every program that can enqueue can write one.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::worker {

/// The longest command, over all of its words: what Linux takes as one argument of `sh -c`.
inline constexpr std::size_t kCommandBytesMax = 131'071;
inline constexpr std::size_t kWordsMax = 4'096;
inline constexpr std::uint32_t kSlotsMax = 1'024;
inline constexpr Duration kTimeoutMax = std::chrono::hours(24 * 366);
/// Between SIGTERM and SIGKILL, unless a job says otherwise.
inline constexpr Duration kKillAfter = std::chrono::seconds(10);

/// Exactly one of `text` (run by `sh -c`) and `argv` (run as it is) is not empty. All strings are
/// bytes without NUL; they need not be UTF-8.
struct Command {
  std::string text = {};
  std::vector<std::string> argv = {};
  std::string cwd = {};                     ///< Empty: the worker's.
  std::string environment = {};             ///< The id of a kept environment; empty: a bare one.
  std::vector<std::string> set = {};        ///< "NAME=value", over the environment.
  Duration timeout = {};                    ///< 0: none.
  Duration kill_after = kKillAfter;         ///< How long the tree may take to end after SIGTERM.
  std::uint32_t slots = 1;                  ///< Of the worker that runs it; clamped to what it has.
  std::string label = {};                   ///< For people.
  std::vector<std::uint8_t> retry_on = {};  ///< If any: other exit codes end in `dead` at once.
  std::vector<std::uint8_t> no_retry_on = {};  ///< These exit codes end in `dead` at once.
  std::string on_done = {};                    ///< A command, run as a job, once this one is over.
  std::optional<std::int64_t> index = {};      ///< Its place in an array of jobs.

  friend bool operator==(const Command&, const Command&) = default;
};

/// `invalid_argument`, saying what to do, unless a worker could run it.
Status check(const Command& command);

std::string encode(const Command& command);
/// `corrupt` if the payload is not a command: a job that another program enqueued, or damage.
Result<Command> decode_command(std::string_view payload);

/// The command as a person would type it; words of `argv` are quoted where a shell needs it.
std::string to_line(const Command& command);

/// Whether a run that ended with this exit code may be tried again.
bool may_retry(const Command& command, int exit_code);

}  // namespace sluice::worker
