// SPDX-License-Identifier: MIT
// The manual page of a program, made from the tables of commands and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/completion.h"

namespace sluice::cli {

struct ManualSection {
  std::string_view title;
  std::string text;  ///< In roff.
};

/// What the tables do not say.
struct Manual {
  std::string_view version;
  std::string_view summary;   ///< "a durable job queue for the command line".
  std::string_view synopsis;  ///< In roff, as the following.
  std::string_view description;
  std::vector<ManualSection> sections;  ///< After the commands.
};

// A program that uses manual_commands() says these about itself.

Manual manual();
/// What completion offers for values.
Offers offers();

/// The commands `completion` and `man`.
std::vector<Command> manual_commands();

/// Page 1 in roff, for man(1). The same for the same program: it has no date.
std::string man_page(const Manual& manual);

/// Text as it is.
std::string roff(std::string_view text);
/// An entry of a list: a name, what it takes, and what it is.
std::string roff_entry(std::string_view name, std::string_view value, std::string_view text);

}  // namespace sluice::cli
