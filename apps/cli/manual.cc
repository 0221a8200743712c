// SPDX-License-Identifier: MIT
#include "cli/manual.h"

#include "cli/args.h"

namespace sluice::cli {
namespace {

std::string option_entries(const auto& options) {
  std::string text;
  for (const Option& option : options) {
    std::string name(option.name);
    if (option.letter != 0) name = std::string("-") + option.letter + ", " + name;
    text += roff_entry(name, option.value, option.help);
  }
  return text;
}

std::string details_of(const Command& command) {
  return command.details.empty() ? "" : ".PP\n.nf\n" + roff(command.details) + "\n.fi\n";
}

}  // namespace

std::string roff(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
    at_start = c == '\n';
  }
  return escaped;
}

std::string roff_entry(std::string_view name, std::string_view value, std::string_view text) {
  std::string entry = ".TP\n\\fB" + roff(name) + "\\fR";
  if (!value.empty()) entry += " \\fI" + roff(value) + "\\fR";
  return entry + "\n" + roff(text) + "\n";
}

std::string man_page(const Manual& manual) {
  const std::string program(program_name());
  std::string text = ".TH " + program + " 1 \"\" \"" + program + " " + std::string(manual.version) +
                     "\" \"User Commands\"\n";
  text += ".SH NAME\n" + program + " \\- " + roff(manual.summary) + "\n";
  text += ".SH SYNOPSIS\n" + std::string(manual.synopsis);
  text += ".SH DESCRIPTION\n" + std::string(manual.description);
  for (const Command& command : all_commands())
    if (command.name.empty())
      text += details_of(command) + ".SH OPTIONS\n" + option_entries(command.options);
  text += ".SH OPTIONS OF EVERY COMMAND\n" + option_entries(global_options());
  text += ".SH COMMANDS\n";
  for (const Command& command : all_commands()) {
    if (command.name.empty()) continue;
    text += ".SS \"" + roff(command.name) + " " + roff(command.arguments) + "\"\n";
    text += roff(command.summary) + ".\n" + details_of(command) + option_entries(command.options);
  }
  for (const ManualSection& section : manual.sections)
    text.append(".SH ").append(section.title).append("\n").append(section.text);
  return text;
}

}  // namespace sluice::cli
