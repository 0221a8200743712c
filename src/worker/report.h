// SPDX-License-Identifier: MIT
// What is kept of a run: how it ended and what it used. It is stored as text that a person can
// read, as the result of a job that was acked and as the error of an attempt that failed:
//
//   exit code 3
//   1.250 s wall, 0.210 s user, 0.020 s system, 12345 KiB, 99 bytes of output
#pragma once

#include <sluice/clock.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::worker {

struct Report {
  std::optional<int> exit_code = {};  ///< As a shell shows it: 128 + n for a signal.
  int signal = 0;
  bool timed_out = false;
  std::string problem = {};  ///< Why it could not be run, or how it was lost.
  Duration wall = {};
  Duration user = {};
  Duration system = {};
  std::uint64_t rss_bytes = 0;
  std::uint64_t output_bytes = 0;

  bool succeeded() const { return exit_code == 0 && problem.empty() && !timed_out; }
};

/// The first line alone, as "exit code 3", "killed by signal 9 (SIGKILL)", "timed out".
std::string headline(const Report& report);
std::string to_text(const Report& report);
/// Reads what to_text() wrote; any other text is a report whose problem is that text.
Report parse_report(std::string_view text);

/// "SIGTERM"; "signal 65" if it has no name.
std::string signal_name(int number);

}  // namespace sluice::worker
