// SPDX-License-Identifier: MIT
#include "retracker/stats_ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace sluice::cli {
namespace {

using Format = StatsAsk::Format;

constexpr std::size_t kRowsJson = 100;
constexpr std::size_t kRowsText = 10;

Result<Format> read_format(std::string_view text) {
  if (text == "text") return Format::text;
  if (text == "json") return Format::json;
  if (text == "html") return Format::page;
  return error(Code::invalid_argument, "format is text, json or html");
}

Result<std::size_t> read_limit(std::string_view text) {
  std::size_t rows = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, rows);
  if (text.empty() || stop != end || problem != std::errc() || rows > kTableRowsMax)
    return error(Code::invalid_argument, fmt::format("limit is 0 to {}", kTableRowsMax));
  return rows;
}

}  // namespace

Result<StatsAsk> read_stats_ask(std::string_view query, std::string_view accept) {
  const bool browser = accept.find("text/html") != accept.npos;
  StatsAsk ask{.format = browser ? Format::page : Format::text};
  std::optional<std::size_t> rows;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (part.starts_with("format=")) {
      SLUICE_LET(format, read_format(part.substr(part.find('=') + 1)));
      ask.format = format;
    } else if (part.starts_with("limit=")) {
      SLUICE_LET(limit, read_limit(part.substr(part.find('=') + 1)));
      rows = limit;
    }
  }
  ask.rows = rows.value_or(ask.format == Format::json ? kRowsJson : kRowsText);
  return ask;
}

}  // namespace sluice::cli
