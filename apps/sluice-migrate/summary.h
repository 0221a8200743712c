// SPDX-License-Identifier: MIT
// What a ledger amounts to: its counters, in words, as JSON and as an exit code.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "codec/json.h"
#include "migrate/ledger.h"

namespace sluice::cli {

inline constexpr std::size_t kVerdicts = 9;
inline constexpr std::size_t kDrifts = 3;

/// The counters of all levels together.
struct Summary {
  template <std::size_t N>
  using Counts = std::array<std::uint64_t, N>;

  migrate::Settings settings = {};
  Counts<kVerdicts> verdicts = {};
  Counts<kVerdicts> verdict_bytes = {};
  std::array<Counts<migrate::kTraversalStatuses>, 2> traversal = {};  ///< By Side.
  Counts<migrate::kCopyStatuses> copy_files = {};
  Counts<migrate::kCopyStatuses> copy_folders = {};
  Counts<migrate::kCopyStatuses> copy_bytes = {};
  Counts<kDrifts> drift = {};
  std::uint64_t dst_bytes = 0;
  migrate::Tallies tallies = {};  ///< Level by level.

  std::uint64_t verdict(migrate::Verdict which) const {
    return verdicts.at(static_cast<std::size_t>(which));
  }
  std::uint64_t status(migrate::Side side, migrate::TraversalStatus which) const {
    return traversal.at(static_cast<std::size_t>(side)).at(static_cast<std::size_t>(which));
  }
  std::uint64_t entries(migrate::Side side) const;
  std::uint64_t src_bytes() const;
  /// Directories that are still to be listed.
  std::uint64_t pending() const;
  /// Directories and names that could not be read, or changed while they were.
  std::uint64_t not_read() const;
  bool has_unknown() const;
  bool has_differences() const;
};

/// `not_found` if nothing was ever begun here. Costs as many rows as there are levels.
Result<Summary> read_summary(kv::Store& store);

/// 0, 1 or 2: of a comparison that came to its end.
int compare_exit_code(const Summary& summary);

/// Lines `NAME  N`.
std::string summary_text(const Summary& summary);
/// The same as members of an object that is open.
void put_summary(codec::json::Writer& writer, const Summary& summary);

}  // namespace sluice::cli
