// SPDX-License-Identifier: MIT
#include "cli/manual.h"
#include "cli/output.h"

namespace sluice::cli {
namespace {

Result<int> print_completion(Context& /*context*/, const Arguments& arguments) {
  const std::string shell = arguments.words().empty() ? "" : arguments.words().front();
  SLUICE_LET(script, completion_script(shell, offers()));
  write_all(1, script);
  return 0;
}

Result<int> print_manual(Context& /*context*/, const Arguments& /*arguments*/) {
  write_all(1, man_page(manual()));
  return 0;
}

}  // namespace

std::vector<Command> manual_commands() {
  static const std::string name(program_name());
  static const std::string source = "  source <(" + name + " completion bash)";  // Views are held.
  static const std::string show = "  " + name + " man | man -l -";
  return {
      {.name = "completion",
       .alias = "",
       .arguments = "bash | zsh | fish",
       .summary = "prints a script that completes commands and options",
       .details = source,
       .options = {},
       .takes = Takes::shell,
       .run = print_completion},
      {.name = "man",
       .alias = "",
       .arguments = "",
       .summary = "prints the manual page",
       .details = show,
       .options = {},
       .run = print_manual},
  };
}

}  // namespace sluice::cli
