// SPDX-License-Identifier: MIT
// Being the only one that has a store's directory, without opening the store.
#pragma once

#include <sluice/result.h>

#include <memory>
#include <string>
#include <string_view>

#include "kv/lmdb/descriptor.h"
#include "kv/lmdb/directory_claim.h"

namespace sluice::kv {

/// While it lives nobody has the store in `dir` open, in this process or in another, and whoever
/// opens it waits until it is gone. There need not be a store.
///
/// Every process that has a store open holds the file `bell` locked as shared, from before it opens
/// the data file until after it has closed it, and takes that lock under one of the directory (see
/// SharedFile::open). So whoever holds both exclusively is alone, and who comes waits at the
/// directory, before it has looked at any file.
class Alone {
 public:
  /// `unavailable`, at once, if the store is open or being opened; the message ends with `advice`.
  static Result<std::unique_ptr<Alone>> take(const std::string& dir, std::string_view advice);
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

  /// The file `bell`, to be read and written; below zero if there is none.
  int bell() const { return bell_.get(); }

 private:
  Alone(int door, int bell, std::unique_ptr<DirectoryClaim> claim, int locks)
      : door_(door), bell_(bell), claim_(std::move(claim)), locks_(locks) {}

  const Descriptor door_;
  const Descriptor bell_;
  const std::unique_ptr<DirectoryClaim> claim_;
  const Descriptor locks_;
};

}  // namespace sluice::kv
