// SPDX-License-Identifier: MIT
// What the copy did to the names of one unit of work, as the ledger keeps it.
#pragma once

#include <sluice/kv.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "migrate/copy_order.h"
#include "migrate/entry.h"
#include "migrate/ledger.h"
#include "migrate/walk.h"

namespace sluice::migrate {

struct Done {
  CopyOutcome outcome = CopyOutcome::copied;
  std::uint32_t error = 0;  ///< Why it failed.
  Entry entry = {};         ///< As it is now; without name and target.
  std::optional<Hash> hash = {};
};

Done failed(std::uint32_t reason);
std::uint32_t reason_of(const CopyFault& fault);

/// Read when the unit begins, added to, and written whole: those of earlier runs stay.
class CopyResults {
 public:
  CopyResults() = default;
  /// `parent`: of the folder that the work is about.
  CopyResults(const WorkKey& work, FolderId parent) : work_(work), parent_(parent) {}

  /// What earlier runs did here.
  Status read(kv::Reader& reader);
  /// Whether it was done, and did not fail.
  bool has(std::string_view name) const;
  /// What an earlier run made of it, if one did.
  std::optional<CopyOutcome> put(std::string_view name, Done done);
  /// Nothing if nothing was put.
  void write(Change& change) const;

  /// The folder that the names are in. A folder's attributes are noted beside its siblings'.
  FolderId owner() const { return work_.pass == Pass::attributes ? parent_ : work_.id; }

 private:
  Status remember(std::string_view chunk);
  std::string key(std::uint64_t number) const;

  WorkKey work_ = {};
  FolderId parent_ = {};
  std::map<std::string, Done, std::less<>> all_;
  bool changed_ = false;
};

}  // namespace sluice::migrate
