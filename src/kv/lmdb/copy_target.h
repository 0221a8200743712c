// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "kv/lmdb/descriptor.h"
#include "kv/lmdb/environment.h"

namespace sluice::kv {

/// The directory that a copy of a store is written into. Unless finish() succeeds, the destructor
/// removes what was written, and the directory if it was made here. Whoever opens a store in it
/// meanwhile waits.
class CopyTarget {
 public:
  /// `already_exists` unless `dir` is missing or empty.
  static Result<std::unique_ptr<CopyTarget>> make(const std::string& dir);
  ~CopyTarget();
  CopyTarget(const CopyTarget&) = delete;
  CopyTarget& operator=(const CopyTarget&) = delete;

  /// Writes and syncs the data, under a name that is not yet a store's.
  Status write_data(const Environment& environment);
  /// Makes the directory a store, durably.
  Status finish();

 private:
  CopyTarget(std::string dir, bool made, int door);
  Status check_empty() const;
  std::string data() const { return dir_ + "/data.mdb"; }
  std::string unfinished() const { return data() + ".new"; }

  const std::string dir_;
  const Descriptor door_;
  bool made_;             // The directory is removed if the copy fails.
  bool writing_ = false;  // And so are the files.
};

}  // namespace sluice::kv
