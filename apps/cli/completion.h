// SPDX-License-Identifier: MIT
// Scripts that complete a program's command line, made from the tables of commands and options.
#pragma once

#include <sluice/result.h>

#include <map>
#include <string>
#include <string_view>

#include "cli/args.h"

namespace sluice::cli {

/// What a program offers as values, beside files and folders.
struct Offers {
  /// Those that are always the same, between blanks: "pending dead".
  std::map<Takes, std::string> words = {};
  /// Those that the program must be asked for: "jobs" has it run as `PROGRAM QUESTION jobs`, to
  /// print one value a line.
  std::map<Takes, std::string> asked = {};
  /// The name of QUESTION, and the options that it is to be given if they are on the command line.
  /// Options of every command that have a value are given as well.
  Command question = {};
};

/// For bash, zsh or fish; `invalid_argument` for any other shell. Values that are asked for or come
/// from the disk are only shown, never run, whatever they look like.
Result<std::string> completion_script(std::string_view shell, const Offers& offers);

}  // namespace sluice::cli
