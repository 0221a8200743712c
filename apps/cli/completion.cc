// SPDX-License-Identifier: MIT
#include "cli/completion.h"

#include <array>
#include <set>
#include <vector>

#include "cli/suggest.h"

namespace sluice::cli {
namespace {

constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};
/// The shell command that offers nothing.
constexpr std::string_view kNothing = ":";

std::string joined(const auto& words, std::string_view between = " ") {
  std::string text;
  for (const auto& word : words) text.append(text.empty() ? "" : between).append(word);
  return text;
}

/// The first words of commands, and the second words of those that have two.
std::map<std::string, std::set<std::string>> command_words() {
  std::map<std::string, std::set<std::string>> words;
  for (const Command& command : all_commands()) {
    if (command.name.empty()) continue;
    const std::string name(command.name);
    const auto blank = name.find(' ');
    auto& seconds = words[name.substr(0, blank)];
    if (blank != std::string::npos) seconds.insert(name.substr(blank + 1));
    if (!command.alias.empty()) words[std::string(command.alias)];
  }
  return words;
}

/// What runs if no command is named.
Command unnamed_command() {
  for (const Command& command : all_commands())
    if (command.name.empty()) return command;
  return {};
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options) names.emplace_back(option.name);
  for (const Option& option : global_options()) names.emplace_back(option.name);
  return names;
}

std::string words_of(Takes takes, const Offers& offers) {
  if (takes == Takes::shell) return joined(kShells);
  const auto found = offers.words.find(takes);
  return found == offers.words.end() ? std::string() : found->second;
}

/// "--queue|-Q" for those that have a value.
std::set<std::string> value_patterns(const auto& options) {
  std::set<std::string> patterns;
  for (const Option& option : options)
    if (!option.value.empty())
      patterns.insert(std::string(option.name) +
                      (option.letter != 0 ? std::string("|-") + option.letter : std::string()));
  return patterns;
}

class BashScript {
 public:
  explicit BashScript(const Offers& offers) : offers_(offers) {}

  std::string text() const {
    return offer_function() + "_" + program_ + "() {\n" + read_words() + values_of_options() +
           first_words() + second_words() + words_of_commands() + "}\ncomplete -F _" + program_ +
           " " + program_ + "\n";
  }

 private:
  std::string offer_function() const {
    return "_" + program_ +
           "_offer() {\n"
           "  # Line by line: compgen -W would run what a name says.\n"
           "  local one\n"
           "  while IFS= read -r one; do\n"
           "    [[ $one == \"$1\"* ]] && COMPREPLY+=(\"$(printf %q \"$one\")\")\n"
           "  done\n"
           "}\n";
  }

  /// The words so far, without options that may stand before the command.
  std::string read_words() const {
    std::set<std::string> given = value_patterns(offers_.question.options);
    given.merge(value_patterns(global_options()));
    std::set<std::string> skipped;
    for (const auto& pattern : value_patterns(unnamed_command().options))
      if (!given.contains(pattern)) skipped.insert(pattern);
    std::string text =
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  local words=() given=() seconds= options= i\n"
        "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "    case ${COMP_WORDS[i]} in\n";
    if (!given.empty())
      text += "      " + joined(given, "|") +
              ") given+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[++i]}\") ;;\n";
    if (!skipped.empty()) text += "      " + joined(skipped, "|") + ") ((++i)) ;;\n";
    return text +
           "      -*) ;;\n"
           "      *) words+=(\"${COMP_WORDS[i]}\") ;;\n"
           "    esac\n"
           "  done\n"
           "  local first=${words[0]} second=${words[1]}\n"
           "  COMPREPLY=()\n";
  }

  /// A shell command that offers what it can be.
  std::string offer(Takes takes) const {
    const std::string lines = "_" + program_ + "_offer \"$word\" < <(";
    if (takes == Takes::file) return lines + "compgen -f -- \"$word\")";
    if (takes == Takes::folder) return lines + "compgen -d -- \"$word\")";
    if (const auto asked = offers_.asked.find(takes); asked != offers_.asked.end())
      return lines + program_ + " " + std::string(offers_.question.name) + " " + asked->second +
             " \"${given[@]}\" 2>/dev/null)";
    return offer_words(words_of(takes, offers_));
  }

  static std::string offer_words(const std::string& words) {
    return words.empty() ? std::string(kNothing)
                         : "COMPREPLY=($(compgen -W \"" + words + "\" -- \"$word\"))";
  }

  /// By name only: the same letter may be a switch of another command.
  std::string values_of_options() const {
    std::map<std::string, Takes> taking;
    const auto add = [&](const auto& options) {
      for (const Option& option : options)
        if (!option.value.empty()) taking.emplace(option.name, option.takes);
    };
    for (const Command& command : all_commands()) add(command.options);
    add(global_options());
    std::string text = "  case $before in\n";
    for (const auto& [name, takes] : taking)
      text += "    " + name + ") " + offer(takes) + "; return ;;\n";
    return text + "  esac\n";
  }

  std::string first_words() const {
    std::vector<std::string> words = option_names(unnamed_command());
    for (const auto& [first, seconds] : command_words()) words.push_back(first);
    words.emplace_back("help");
    return "  if ((${#words[@]} == 0)); then\n    " + offer_words(joined(words)) +
           "\n    return\n  fi\n";
  }

  std::string second_words() const {
    std::string groups;
    for (const auto& [first, seconds] : command_words())
      if (!seconds.empty()) groups += "    " + first + ") seconds=\"" + joined(seconds) + "\" ;;\n";
    return (groups.empty() ? "" : "  case $first in\n" + groups + "  esac\n") +
           "  if [[ -n $seconds ]] && ((${#words[@]} == 1)); then\n    " + offer_words("$seconds") +
           "\n    return\n  fi\n";
  }

  std::string words_of_commands() const {
    std::string text =
        "  local command=$first\n"
        "  [[ -n $seconds ]] && command=\"$first $second\"\n"
        "  case $command in\n";
    for (const Command& command : all_commands()) {
      if (command.name.empty()) continue;
      text += "    '" + std::string(command.name) + "'";
      if (!command.alias.empty()) text += "|'" + std::string(command.alias) + "'";
      text += ") options=\"" + joined(option_names(command)) + "\"";
      if (const std::string some = offer(command.takes); some != kNothing)
        text += "\n      [[ $word == -* ]] || " + some;
      text += " ;;\n";
    }
    return text + "  esac\n  [[ $word == -* ]] && " + offer_words("$options") + "\n";
  }

  const Offers& offers_;
  const std::string program_{program_name()};
};

std::string zsh_script(const Offers& offers) {
  const std::string name = "_" + std::string(program_name());
  return "autoload -U +X bashcompinit && bashcompinit\n" + BashScript(offers).text() +
         "# From a folder of $fpath this is itself the function that is asked.\n"
         "[[ $funcstack[1] == " +
         name + " ]] && _bash_complete -F " + name + "\n";
}

class FishScript {
 public:
  explicit FishScript(const Offers& offers) : offers_(offers) {}

  std::string text() const {
    std::string text = begin_ + " -f\n";
    for (const Option& option : global_options()) text += option_line("", option);
    std::set<std::string> firsts{"help"};
    for (const auto& [first, seconds] : command_words()) firsts.insert(first);
    text += "function " + no_command_ + "\n  not __fish_seen_subcommand_from " + joined(firsts) +
            "\nend\n";
    for (const std::string& first : firsts)
      text += begin_ + " -n " + no_command_ + " -a " + first + described(first) + "\n";
    for (const Command& command : all_commands()) text += command_lines(command);
    return text;
  }

 private:
  static std::string quoted(std::string_view text) {
    std::string all = "'";
    for (const char c : text) all.append(c == '\'' || c == '\\' ? "\\" : "").append(1, c);
    return all + "'";
  }

  static std::string described(std::string_view first) {
    for (const Command& command : all_commands())
      if (command.name == first || command.alias == first) return " -d " + quoted(command.summary);
    return {};
  }

  std::string values(Takes takes) const {
    if (takes == Takes::file) return " -r -F";
    if (takes == Takes::folder) return " -x -a '(__fish_complete_directories)'";
    if (const auto asked = offers_.asked.find(takes); asked != offers_.asked.end())
      return " -x -a '(" + std::string(program_name()) + " " + std::string(offers_.question.name) +
             " " + asked->second + " 2>/dev/null)'";
    const std::string words = words_of(takes, offers_);
    return words.empty() ? " -x" : " -x -a " + quoted(words);
  }

  std::string option_line(const std::string& when, const Option& option) const {
    std::string line = begin_ + when + " -l " + std::string(option.name.substr(2));
    if (option.letter != 0) line += std::string(" -s ") + option.letter;
    if (!option.value.empty()) line += values(option.takes);
    return line + " -d " + quoted(option.help) + "\n";
  }

  std::string command_lines(const Command& command) const {
    const std::string name(command.name);
    const auto blank = name.find(' ');
    const std::string first = name.substr(0, blank);
    std::string when = "__fish_seen_subcommand_from " + first;
    if (!command.alias.empty()) when.append(" ").append(command.alias);
    std::string text;
    if (name.empty()) {
      when = no_command_;
    } else if (blank != std::string::npos) {
      const std::string second = name.substr(blank + 1);
      text += begin_ + " -n '" + when + "; and not __fish_seen_subcommand_from " +
              joined(command_words()[first]) + "' -a " + second + " -d " + quoted(command.summary) +
              "\n";
      when += "; and __fish_seen_subcommand_from " + second;
    }
    when = " -n '" + when + "'";
    if (command.takes != Takes::nothing && command.takes != Takes::text)
      text += begin_ + when + values(command.takes) + "\n";
    for (const Option& option : command.options) text += option_line(when, option);
    return text;
  }

  const Offers& offers_;
  const std::string begin_ = "complete -c " + std::string(program_name());
  const std::string no_command_ = "__" + std::string(program_name()) + "_no_command";
};

}  // namespace

Result<std::string> completion_script(std::string_view shell, const Offers& offers) {
  const std::string program(program_name());
  const std::string title = "# " + std::string(shell) + " completion for " + program + ":  ";
  const std::string how = program + " completion " + std::string(shell);
  if (shell == "bash") return title + "source <(" + how + ")\n" + BashScript(offers).text();
  if (shell == "zsh")
    return "#compdef " + program + "\n" + title + "source <(" + how + ")\n" + zsh_script(offers);
  if (shell == "fish") return title + how + " | source\n" + FishScript(offers).text();
  const std::string meant = did_you_mean(shell, kShells);
  return error(Code::invalid_argument,
               "say which shell: bash, zsh or fish" + (meant.empty() ? "" : "; " + meant));
}

}  // namespace sluice::cli
