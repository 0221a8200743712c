// SPDX-License-Identifier: MIT
// What somebody wants to see of retracker.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::cli {

/// The most rows of a table.
inline constexpr std::size_t kTableRowsMax = 10'000;

struct StatsAsk {
  enum class Format : std::uint8_t { text, json, page, metrics };
  Format format = Format::text;
  std::size_t rows = 0;  ///< Of the tables of torrents and of clients; 0: no tables.
};

/// What stands behind the question mark: `format=` text, json or html, and `limit=` rows, 0 to
/// kTableRowsMax; 100 in JSON and 10 in text if it does not say. `accept` is the header of that
/// name, for who names no format. Other names mean nothing. `invalid_argument` says what is
/// allowed.
Result<StatsAsk> read_stats_ask(std::string_view query, std::string_view accept);

}  // namespace sluice::cli
