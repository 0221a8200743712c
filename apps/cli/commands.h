// SPDX-License-Identifier: MIT
// Which of all_commands() a command line names. A name has one word or two.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cli/args.h"

namespace sluice::cli {

struct FoundCommand {
  const Command* command = nullptr;  ///< Null: there is none.
  std::size_t words = 0;             ///< How many words name it.
};
/// The command that the words begin with, by name or alias.
FoundCommand find_command(const std::vector<std::string>& words);

/// For words that name no command: the commands that begin with the first word, if there are some
/// and --help is asked for; else `invalid_argument` that says what there is.
Result<std::string> group_help(const std::vector<std::string>& words);

}  // namespace sluice::cli
