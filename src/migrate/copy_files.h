// SPDX-License-Identifier: MIT
// The files of one directory, or of a chunk of it, and whatever else is no folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "migrate/copy_folder.h"
#include "migrate/copy_name.h"
#include "migrate/listing.h"

namespace sluice::migrate {

/// First decides what is to become of each name, then copies those that are to be copied; with
/// those threads that have nothing else to do, as a single folder may hold most of a tree's bytes.
class CopyFiles {
 public:
  explicit CopyFiles(CopyFolder& folder) : folder_(folder) {}

  Status run();

 private:
  /// A name that is to be copied, and what came of it. Entries by their numbers in kept_.
  struct Wanted {
    std::size_t src = 0;
    std::optional<std::size_t> dst = {};
    CopyExtent extent = CopyExtent::all;
    bool leads = false;  ///< The other names of the file are to be linked to this one.
    Counted counted = {};
    std::optional<Done> done = {};  ///< Nothing if it was stopped before its end.
  };

  Status decide(const Entry* src, const Entry* dst);
  std::uint32_t clear_the_way(const Entry& dst);
  Result<bool> link(const Entry& src, const Entry* dst);
  Result<std::optional<Done>> link_to_place(const Entry& src, const Entry* dst,
                                            const LinkPlace& place);
  CopyOrder order(const Entry& src, const Entry* dst) const;
  std::size_t keep(const Entry& entry);
  void copy(Wanted& wanted) const;
  void record(Wanted& wanted);

  CopyFolder& folder_;
  Listing kept_;  // At most a chunk of the source, and what it replaces.
  std::vector<Wanted> wanted_;
};

}  // namespace sluice::migrate
