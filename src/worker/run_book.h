// SPDX-License-Identifier: MIT
// A worker's note of the processes that it has started, for whoever cleans up after it: a file of
// one line per slot, written with one system call per run. It matters only within one boot of the
// machine, so it is never synced.
#pragma once

#include <sluice/clock.h>
#include <sluice/job.h>
#include <sluice/result.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace sluice::worker {

/// The session of a run. By its number alone it could be another's by now: hence the time.
struct RunNote {
  queue::Token token = {};
  pid_t session = 0;
  MonoTime started = {};
};

/// The book of a living worker. Not thread-safe.
class RunBook {
 public:
  /// Makes DIR/runs/NAME anew. `identity` is that of the lock file.
  static Result<RunBook> open(const std::string& dir, const std::string& worker,
                              const std::string& identity);

  /// What `slot` runs now. What cannot be written is only not found by recovery: no failure.
  void note(unsigned slot, const RunNote& note) const;

 private:
  explicit RunBook(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

/// What the worker's slots ran last; nothing if the machine has booted since, if there is no book,
/// or if it came here with a copy of the store, whose lock file is another one.
std::vector<RunNote> read_run_book(const std::string& dir, const std::string& worker,
                                   const std::string& identity);
void remove_run_book(const std::string& dir, const std::string& worker);

}  // namespace sluice::worker
