// SPDX-License-Identifier: MIT
// What every benchmark shares: its options, a directory that goes away, CPU time, medians.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

struct Options {
  /// The same measurements in less time, hence with more noise.
  bool quick = false;
  /// Where the benchmark makes its own directory. It should be on the disk that is to be measured.
  std::string dir = ".";
  /// The file whose table is rewritten; empty for none.
  std::string markdown = {};
};

/// Reads the command line of bench_`name`. Answers --help and refuses what it does not know, with
/// the exit code that the program then ends with; otherwise returns the options.
struct CommandLine {
  std::optional<int> exit_code = {};
  Options options = {};
};
CommandLine parse_command_line(const std::string& name, const std::vector<std::string>& args);

/// A fresh directory, removed with all that is in it.
class ScratchDir {
 public:
  static Result<ScratchDir> make(const std::string& parent);
  ~ScratchDir();
  ScratchDir(ScratchDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchDir& operator=(ScratchDir&&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchDir(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

/// What some work took: of the clock, and of the CPU (user and system) in all threads of this
/// process. On a machine that others use too, only the second can be compared.
struct Cost {
  double wall_seconds = 0;
  double cpu_seconds = 0;
};

/// Started by its construction.
class Stopwatch {
 public:
  Stopwatch();
  Cost read() const;

 private:
  MonoTime wall_start_;
  double cpu_start_;
};

/// The value that `share` (0..1) of the samples do not exceed; 0 if there are none.
double percentile(std::vector<double> samples, double share);
inline double median(std::vector<double> samples) {
  return percentile(std::move(samples), 0.5);
}

/// One figure of each round, and their median. Ratios are taken within a round, because what else
/// the machine does changes from one round to the next.
template <class Rounds, class Figure>
double median_of(const Rounds& rounds, const Figure& figure) {
  std::vector<double> figures;
  for (const auto& round : rounds) figures.push_back(figure(round));
  return median(figures);
}

}  // namespace sluice::bench
