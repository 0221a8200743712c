// SPDX-License-Identifier: MIT
#include "cli/args.h"

#include <charconv>

#include "cli/duration.h"
#include "cli/suggest.h"
#include "cli/time.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

const Option* find_option(const Command& command, std::string_view name, char letter) {
  const auto matches = [&](const Option& option) {
    return letter != 0 ? option.letter == letter : option.name == name;
  };
  for (const Option& option : command.options)
    if (matches(option)) return &option;
  for (const Option& option : global_options())
    if (matches(option)) return &option;
  return nullptr;
}

Failure unknown_option(const Command& command, const std::string& word) {
  std::vector<std::string_view> names;
  for (const Option& option : command.options) names.push_back(option.name);
  for (const Option& option : global_options()) names.push_back(option.name);
  const std::string meant = did_you_mean(word, names);
  return error(Code::invalid_argument,
               "there is no option " + visible(word) + ": " +
                   (meant.empty() ? "see " + full_name(command) + " --help" : meant));
}

/// One word that begins with "-", with its value, which may be the next word.
class OptionWord {
 public:
  OptionWord(const Command& command, std::span<const std::string> words, std::size_t at)
      : command_(command), words_(words), at_(at) {}

  struct Found {
    const Option* option = nullptr;
    std::string value = {};
  };
  /// All that the word holds: several for "-qv".
  Result<std::vector<Found>> read() {
    const std::string& word = words_[at_];
    if (word.starts_with("--")) {
      SLUICE_LET(found, read_long(word));
      return std::vector{found};
    }
    return read_letters(word);
  }
  std::size_t next() const { return at_ + 1; }

 private:
  Result<Found> read_long(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* option = find_option(command_, name, 0);
    if (option == nullptr) return unknown_option(command_, name);
    if (equals == std::string::npos) return with_value(*option, {});
    if (option->value.empty()) return error(Code::invalid_argument, name + " takes no value");
    return Found{option, word.substr(equals + 1)};
  }

  Result<std::vector<Found>> read_letters(const std::string& word) {
    std::vector<Found> all;
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Option* option = find_option(command_, {}, word[i]);
      if (option == nullptr) return unknown_option(command_, std::string("-") + word[i]);
      if (option->value.empty()) {
        all.push_back({option, {}});
        continue;
      }
      SLUICE_LET(found, with_value(*option, word.substr(i + 1)));
      all.push_back(found);
      break;
    }
    return all;
  }

  Result<Found> with_value(const Option& option, const std::string& attached) {
    if (option.value.empty()) return Found{&option, {}};
    if (!attached.empty()) return Found{&option, attached};
    if (at_ + 1 >= words_.size())
      return error(Code::invalid_argument, std::string(option.name) +
                                               " needs a value: " + std::string(option.name) + " " +
                                               std::string(option.value));
    return Found{&option, words_[++at_]};
  }

  const Command& command_;
  std::span<const std::string> words_;
  std::size_t at_;
};

}  // namespace

std::string full_name(const Command& command) {
  std::string name(program_name());
  if (!command.name.empty()) name.append(" ").append(command.name);
  return name;
}

Result<Arguments> Arguments::parse(const Command& command, std::span<const std::string> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size();) {
    if (words[i] == "--") {
      arguments.rest_.emplace(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (words[i].size() < 2 || words[i][0] != '-') {
      arguments.words_.push_back(words[i++]);
      continue;
    }
    OptionWord word(command, words, i);
    SLUICE_LET(found, word.read());
    i = word.next();
    for (const auto& one : found) {
      auto& values = arguments.values_[std::string(one.option->name)];
      if (!values.empty() && !one.option->repeats && !one.option->value.empty())
        return error(Code::invalid_argument, std::string(one.option->name) + " is there twice");
      values.push_back(one.value);
    }
  }
  if (command.takes == Takes::nothing && !arguments.words_.empty())
    return error(Code::invalid_argument,
                 full_name(command) + " takes no argument " + in_quotes(arguments.words_.front()));
  return arguments;
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) return {};
  return found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

Result<std::int64_t> parse_number(std::string_view what, std::string_view text, std::int64_t least,
                                  std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size() && number >= least &&
      number <= most)
    return number;
  return error(Code::invalid_argument, std::string(what) + " is " + in_quotes(text) +
                                           ": it must be a whole number from " +
                                           std::to_string(least) + " to " + std::to_string(most));
}

Result<std::optional<std::int64_t>> Arguments::number(std::string_view name, std::int64_t least,
                                                      std::int64_t most) const {
  const auto given = text(name);
  if (!given) return std::optional<std::int64_t>();
  SLUICE_LET(number, parse_number(name, *given, least, most));
  return std::optional(number);
}

Result<std::optional<Duration>> Arguments::duration(std::string_view name) const {
  const auto given = text(name);
  if (!given) return std::optional<Duration>();
  auto parsed = parse_duration(*given);
  if (!parsed) return Failure{parsed.error().with(name)};
  return std::optional(*parsed);
}

Result<std::optional<WallTime>> Arguments::time(std::string_view name, WallTime now) const {
  const auto given = text(name);
  if (!given) return std::optional<WallTime>();
  auto parsed = parse_time(*given, now);
  if (!parsed) return Failure{parsed.error().with(name)};
  return std::optional(*parsed);
}

}  // namespace sluice::cli
