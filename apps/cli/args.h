// SPDX-License-Identifier: MIT
// The command line: what commands and options there are, as tables. Parsing, --help, completion and
// the manual page are all made from them, so they cannot disagree.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// What an option or argument takes: what completion offers for it.
enum class Takes : std::uint8_t {
  nothing,
  text,
  file,
  folder,
  shell,  ///< bash, zsh or fish.
  level,  ///< Of a log.
  queue,
  job,
  state,
  worker,
  key
};

struct Option {
  std::string_view name;   ///< "--max-retries".
  char letter = 0;         ///< 'r' for -r; 0: none.
  std::string_view value;  ///< "N" in "--max-retries N"; empty: a switch.
  std::string_view help;
  Takes takes = Takes::text;
  bool repeats = false;
};

/// What the commands of a program share; each program has its own.
class Context;
class Arguments;

struct Command {
  std::string_view name;       ///< "dlq retry".
  std::string_view alias;      ///< "ls"; empty: none.
  std::string_view arguments;  ///< "ID...": as usage shows it.
  std::string_view summary;    ///< One line.
  std::string_view details;    ///< The rest of --help: sentences and examples.
  std::vector<Option> options;
  Takes takes = Takes::nothing;  ///< What its arguments are.
  /// The exit code, or a failure that main() prints.
  Result<int> (*run)(Context&, const Arguments&) = nullptr;
};

// Each program says these about itself.

/// Options that every command takes.
std::span<const Option> global_options();
/// In the order in which --help shows them.
const std::vector<Command>& all_commands();
/// "queuectl".
std::string_view program_name();

/// "queuectl dlq retry".
std::string full_name(const Command& command);

/// What the user wrote, taken apart by a command's tables.
class Arguments {
 public:
  /// `words` follow the command's name. Options may stand anywhere before "--", as "--name value",
  /// "--name=value", "-n value" or "-nvalue". `invalid_argument` names what is wrong, and what was
  /// meant.
  static Result<Arguments> parse(const Command& command, std::span<const std::string> words);

  bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  /// The last value given.
  std::optional<std::string> text(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  /// Whole numbers from `least` to `most`; `invalid_argument` says what is allowed.
  Result<std::optional<std::int64_t>> number(std::string_view name, std::int64_t least,
                                             std::int64_t most) const;
  Result<std::optional<Duration>> duration(std::string_view name) const;
  Result<std::optional<WallTime>> time(std::string_view name, WallTime now) const;

  const std::vector<std::string>& words() const { return words_; }
  /// What followed "--", if that was there.
  const std::optional<std::vector<std::string>>& rest() const { return rest_; }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> words_;
  std::optional<std::vector<std::string>> rest_;
};

/// "retry: 1 to 10" as Arguments::number() checks it, for values from elsewhere.
Result<std::int64_t> parse_number(std::string_view what, std::string_view text, std::int64_t least,
                                  std::int64_t most);

}  // namespace sluice::cli
