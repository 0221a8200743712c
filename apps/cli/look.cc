// SPDX-License-Identifier: MIT
#include "cli/look.h"

namespace sluice::cli {
namespace {

std::string_view code_of(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::dim:
      return "2";
    case Style::bold:
      return "1";
    case Style::red:
      return "31";
    case Style::green:
      return "32";
    case Style::yellow:
      return "33";
    case Style::blue:
      return "34";
    case Style::cyan:
      return "36";
    case Style::magenta:
      return "35";
  }
  return "";
}

}  // namespace

std::string paint(std::string_view text, Style style, const Look& look) {
  const std::string_view code = code_of(style);
  if (code.empty() || text.empty() || !look.colour || !look.width) return std::string(text);
  return std::string("\x1b[").append(code).append("m").append(text).append("\x1b[0m");
}

}  // namespace sluice::cli
