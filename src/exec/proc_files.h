// SPDX-License-Identifier: MIT
// What /proc tells about processes. A process may vanish at any moment, or belong to somebody who
// is none of our business: then nothing is told, and that is no failure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::exec {

/// A line of /proc/PID/stat, as far as it matters here.
struct ProcessLine {
  pid_t pid = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t started = 0;  ///< In ticks since boot: tells a process from a later namesake.
  bool lives = false;         ///< Not a zombie; or one, but with threads that live.
  bool leaves = false;        ///< It is ending, or a part of the kernel: has no environment.
  /// How long its environment is. Nothing while a program is being loaded into it, and for those
  /// that the caller may not inspect.
  std::optional<std::uint64_t> env_bytes = {};

  friend bool operator==(const ProcessLine&, const ProcessLine&) = default;
};

/// `unclear`: a program is just being loaded; ask again in a moment.
enum class Answer : std::uint8_t { no, yes, unclear };

/// A lock on the bytes `first` to `last`, both included, of the file "08:01:1234".
struct HeldRange {
  std::string file;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Reads a line of /proc/PID/stat. The name of the program, in parentheses, may hold parentheses
/// and spaces itself.
std::optional<ProcessLine> parse_process_line(std::string_view text);
/// Reads a line of /proc/PID/fdinfo/N; nothing unless it tells of an open-file-description lock.
std::optional<HeldRange> parse_lock_line(std::string_view line);

std::optional<ProcessLine> read_process(pid_t pid);
/// The processes of this pid namespace; nothing if /proc cannot be read. The highest number comes
/// first: that is mostly the youngest, which may be gone before the others have been looked at.
std::optional<std::vector<pid_t>> read_pids();
/// Whether `wanted` says yes to one of the entries of the environment that it was started with.
Answer any_env_entry(pid_t pid, const std::function<bool(std::string_view)>& wanted);
/// Whether `wanted` says yes to a lock that is held by one of its descriptors. Looks at `first_fd`
/// first: the others cost a file each.
bool any_held_range(pid_t pid, int first_fd, const std::function<bool(const HeldRange&)>& wanted);
/// The locks of one descriptor of our own.
std::vector<HeldRange> held_ranges_of_own(int fd);

}  // namespace sluice::exec
