// SPDX-License-Identifier: MIT
// Other programs, started and timed.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"

namespace sluice::bench {

struct Program {
  std::vector<std::string> words = {};        ///< The first is looked for in $PATH.
  std::vector<std::string> environment = {};  ///< "NAME=value"; all of it.
  std::string input = "/dev/null";
  std::string output = "/dev/null";
  std::string errors = {};  ///< A file; empty: where this program's go.
};

/// How a program ended that nothing killed.
struct Ended {
  Cost cost = {};
  int exit_code = 0;
  /// The most memory that it had at once, mapped files included. It is never less than what this
  /// program had by the time it started the other.
  double peak_mib = 0;
};

/// Killed if it still runs when this object goes.
class Process {
 public:
  static Result<Process> start(const Program& program);
  ~Process();
  Process(Process&& other) noexcept
      : name_(std::move(other.name_)), pid_(std::exchange(other.pid_, -1)), began_(other.began_) {}
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  /// What it has used so far, in all its threads.
  Result<double> cpu_used() const;
  /// The most memory that it has had so far, without what is swapped out.
  Result<double> peak_mib() const;

  /// Waits for its end, which must be with exit code 0. Its CPU time, and that of all processes
  /// that it has waited for.
  Result<Cost> finish();
  /// The same with any exit code.
  Result<Ended> end();

 private:
  Process(std::string name, pid_t pid, MonoTime began)
      : name_(std::move(name)), pid_(pid), began_(began) {}

  std::string name_;
  pid_t pid_;
  MonoTime began_;
};

/// From start to end.
Result<Cost> run_program(const Program& program);

/// What `work` costs with all processes that it leaves behind, whoever started them. Its wall time
/// ends with `work`; then `after` ends what does not end by itself. Fails if something still runs
/// long after that, and kills it. The caller has no other children.
Result<Cost> cost_of_tree(const std::function<Status()>& work,
                          const std::function<Status()>& after = {});
/// Within `work`: waits until none of the processes is left.
Status wait_for_tree();

}  // namespace sluice::bench
