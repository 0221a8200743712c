// SPDX-License-Identifier: MIT
// Where the programs are that bench_queuectl runs, and what they are run with.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench.h"
#include "program.h"

namespace sluice::bench {

/// What the jobs of queuectl are in when nothing else is said.
inline constexpr const char* kDefaultQueue = "default";

class Tools {
 public:
  /// Looks beside this program. All that is written goes into a fresh directory of that name.
  static Result<Tools> find(const ScratchDir& scratch, const std::string& name);

  const std::string& self() const { return self_; }
  const std::string& bare() const { return bare_; }
  /// An absolute path.
  std::string operator/(const std::string& name) const { return dir_ + "/" + name; }
  /// A new directory, as an absolute path.
  Result<std::string> make_dir(const std::string& name) const;

  /// Any program, in the small environment that all have in common.
  Program program(std::vector<std::string> words, std::vector<std::string> settings = {}) const;
  /// queuectl on the store `store`, an absolute path.
  Program queuectl(const std::string& store, std::vector<std::string> words) const;

  /// A file of `count` lines, each `line`, in which a {} stands for its number.
  Result<std::string> make_list(const std::string& name, std::uint64_t count,
                                const std::string& line) const;
  /// Puts the jobs of such a file, one JSON object per line, into a store.
  Result<Cost> enqueue_list(const std::string& store, const std::string& list) const;

 private:
  std::string self_, queuectl_, bare_, dir_;
  std::vector<std::string> environment_;
};

/// Fails unless so many jobs of the store's default queue are done, and none waits to run.
Status check_done(const std::string& store, std::uint64_t count);

}  // namespace sluice::bench
