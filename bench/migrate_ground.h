// SPDX-License-Identifier: MIT
// Where the trees and the ledgers of bench_migrate are, and the programs that are run on them.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "parts.h"
#include "program.h"

namespace sluice::bench {

/// From now on SIGINT, SIGTERM and SIGHUP end the program that Ground runs, and everything that it
/// is asked to run after that fails: so the directories of this process are removed as they are
/// after any failure.
void clean_up_when_interrupted();

/// A fresh directory on tmpfs, removed with all that is in it, whatever its size and depth.
class TmpfsDir {
 public:
  static Result<TmpfsDir> make();
  ~TmpfsDir();
  TmpfsDir(TmpfsDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TmpfsDir& operator=(TmpfsDir&&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TmpfsDir(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

struct Command {
  std::vector<std::string> words = {};
  int exit_code = 0;                 ///< That it must end with.
  std::string output = "/dev/null";  ///< A file.
};

/// What sluice-migrate says at the end of a comparison.
struct Summary {
  std::uint64_t entries = 0;  ///< Of both sides.
  std::uint64_t attributes = 0, content = 0, missing = 0, extra = 0, clash = 0;

  /// What a copy would do, as rsync counts it: all but `extra`.
  std::uint64_t to_copy() const { return attributes + content + missing + clash; }
  friend bool operator==(const Summary&, const Summary&) = default;
};

struct Compared {
  Ended ended = {};
  Summary summary = {};
};

struct Comparing {
  std::string src = {};
  std::string dst = {};
  std::string ledger = {};
  unsigned threads = 0;
  std::vector<std::string> options = {};
  bool same = false;  ///< Whether they are expected to be.
};

class Ground {
 public:
  /// The ledgers are in a directory of that name.
  static Result<Ground> make(const Part& part, const std::string& name);

  /// On tmpfs.
  std::string operator/(const std::string& name) const { return tmpfs_ / name; }
  /// For a ledger, on the disk that the benchmark was told to use; nothing is there yet.
  std::string ledger(const std::string& name) const { return disk_ + "/" + name; }

  /// In a small environment; what it writes to standard error is not seen.
  Result<Ended> run(const Command& command) const;
  /// sluice-migrate with these words.
  Result<Ended> migrate(std::vector<std::string> words, int exit_code) const;
  Result<Compared> compare(const Comparing& wish) const;
  /// The same; it is still running when this returns.
  Result<Process> start_compare(const Comparing& wish) const;
  /// What a ledger says by now; nothing if there is none yet.
  Result<Summary> status(const std::string& ledger) const;

  /// This program as another process: kGrowCommand or kWalkerCommand, and its arguments.
  Result<Ended> run_self(std::vector<std::string> words,
                         const std::string& output = "/dev/null") const;
  /// Removes a file or a directory with all that is in it.
  static Status remove(const std::string& path);

 private:
  explicit Ground(TmpfsDir tmpfs) : tmpfs_(std::move(tmpfs)) {}
  Program program(const Command& command) const;
  std::vector<std::string> words_of(const Comparing& wish) const;

  TmpfsDir tmpfs_;
  std::string disk_, self_, migrate_;
};

/// How many rounds there are, of which the median is shown.
inline int rounds_of(const Part& part) {
  return part.quick ? 3 : 5;
}
/// As many as there are cores: what sluice-migrate does unless it is told.
unsigned default_threads();
Result<std::uint64_t> count_lines(const std::string& path, const std::string& beginning = "");

}  // namespace sluice::bench
