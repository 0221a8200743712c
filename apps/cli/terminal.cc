// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "cli/visible.h"

namespace sluice::cli {
namespace {

std::string value_of(const Environment& environment, const char* name) {
  return environment(name).value_or("");
}

bool names_utf8(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
}

std::size_t side(std::size_t reported, const std::string& variable, std::size_t otherwise) {
  if (reported != 0) return reported;
  std::size_t number = 0;
  const char* const end = variable.data() + variable.size();
  const auto read = std::from_chars(variable.data(), end, number);
  const bool good = read.ec == std::errc() && read.ptr == end;
  return good && number > 0 && number <= kExtentMax ? number : otherwise;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    if (!value) return std::nullopt;
    return value;
  };
}

Result<ColourMode> parse_colour_mode(std::string_view text) {
  if (text == "auto") return ColourMode::automatic;
  if (text == "always") return ColourMode::always;
  if (text == "never") return ColourMode::never;
  return error(Code::invalid_argument,
               in_quotes(text) + " is not a colour mode: write auto, always or never");
}

bool use_colour(ColourMode mode, bool is_terminal, const Environment& environment) {
  if (mode != ColourMode::automatic) return mode == ColourMode::always;
  return is_terminal && value_of(environment, "NO_COLOR").empty() &&
         value_of(environment, "TERM") != "dumb";
}

bool use_unicode(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = value_of(environment, name);
    if (!value.empty()) return names_utf8(std::move(value));
  }
  return false;
}

Extent terminal_extent(const Extent& reported, const Environment& environment) {
  const Extent usual;
  return {.columns = side(reported.columns, value_of(environment, "COLUMNS"), usual.columns),
          .rows = side(reported.rows, value_of(environment, "LINES"), usual.rows)};
}

Look look_of(const Terminal& terminal) {
  Look look{.colour = terminal.colour, .width = std::nullopt, .unicode = terminal.unicode};
  if (terminal.is_terminal) {
    look.width = terminal.extent.columns;
  } else if (terminal.colour) {
    look.width = kWidthUnlimited;
  }
  return look;
}

Terminal inspect(int fd, ColourMode mode, const Environment& environment) {
  Terminal terminal;
  terminal.is_terminal = isatty(fd) == 1;
  Extent reported{.columns = 0, .rows = 0};
  winsize size{};
  if (terminal.is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0) {
    reported = {.columns = size.ws_col, .rows = size.ws_row};
  }
  terminal.extent = terminal_extent(reported, environment);
  terminal.colour = use_colour(mode, terminal.is_terminal, environment);
  terminal.unicode = use_unicode(environment);
  return terminal;
}

}  // namespace sluice::cli
