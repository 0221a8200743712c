// SPDX-License-Identifier: MIT
// Both trees as the ledger knows them, name by name: what reports, `ls` and `why` are made of.
// Works on the ledger of a run that goes on: each directory is read as it is at that moment.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "migrate/compare.h"
#include "migrate/ledger.h"

namespace sluice::migrate {

/// What the copy did to one name. Stored in the id of an entry of Part::copied.
enum class CopyOutcome : std::uint8_t {
  none = 0,
  copied = 1,
  deleted = 2,
  failed = 3,
  skipped = 4
};

/// Of a name that the copy has a record of, `copied`.
CopyStatus copy_status(const Entry& copied);

/// Why the copy of a name failed or was not tried, where errno does not say it. Stored in the error
/// of such an entry, beside errno values.
inline constexpr std::uint32_t kDriftedSrc = 10'001;  ///< The source changed since it was compared.
inline constexpr std::uint32_t kDriftedDst = 10'002;
inline constexpr std::uint32_t kInTheWay = 10'003;  ///< A folder, and --delete was not given.
inline constexpr std::uint32_t kVerifyFailed =
    10'004;  ///< What was read back is not what was written.
inline constexpr std::uint32_t kDeleteLimit = 10'005;  ///< --max-delete.
inline constexpr std::uint32_t kNotCopied = 10'006;    ///< The folder that it would be in.
/// "the source changed since it was compared", or errno's name.
std::string reason_text(std::uint32_t error);

/// One name of the two trees. A view type: everything lives until the visitor returns.
struct WalkItem {
  std::string_view path = {};  ///< From the root; "." is the root itself.
  std::uint32_t level = 0;     ///< 0 for the root.
  const Entry* src = nullptr;  ///< Null: not there.
  const Entry* dst = nullptr;  ///< As it was when compared.
  /// `unknown` also for what is below a directory that could not be listed, and for that itself.
  Comparison found = {};
  bool compared = false;  ///< False: not yet; `found` says nothing.
  /// Of a folder of the source, if they have records.
  const Folder* src_folder = nullptr;
  const Folder* dst_folder = nullptr;
  CopyStatus copy = CopyStatus::pending;
  const Entry* copied = nullptr;  ///< What the copy did, if it did something; see CopyOutcome.
  bool excluded = false;          ///< By `exclude`, itself or something above it.
};

struct WalkOptions {
  std::string under = {};  ///< A path; what is there and below it. Empty: everything.
  bool descend = true;     ///< False: only `under` itself and what is directly in it.
};

/// Visits every name in the order of their paths, as bytes ("a", "a-b", "a/c"). The visitor returns
/// whether to go on. `not_found` if there is nothing at `under`. Memory: a chunk of each
/// side per level.
Status walk(kv::Store& store, const WalkOptions& options,
            const std::function<bool(const WalkItem&)>& visitor);

}  // namespace sluice::migrate
