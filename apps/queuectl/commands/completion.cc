// SPDX-License-Identifier: MIT
// completion: made from the tables of commands and options.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cli/suggest.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/config.h"
#include "queuectl/context.h"
#include "queuectl/job_view.h"
#include "queuectl/jobs.h"

namespace sluice::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

/// The first words of commands, and the second words of those that have two.
std::map<std::string, std::set<std::string>> command_words() {
  std::map<std::string, std::set<std::string>> words;
  for (const Command& command : all_commands()) {
    const std::string name(command.name);
    const auto blank = name.find(' ');
    auto& seconds = words[name.substr(0, blank)];
    if (blank != std::string::npos) seconds.insert(name.substr(blank + 1));
    if (!command.alias.empty()) words[std::string(command.alias)];
  }
  return words;
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options) names.emplace_back(option.name);
  for (const Option& option : global_options()) names.emplace_back(option.name);
  return names;
}

std::string state_words() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kStateCount; ++i)
    names.emplace_back(state_name(static_cast<State>(i)));
  return joined(names);
}

std::string key_words() {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) names.emplace_back(key.name);
  return joined(names);
}

/// Shell words that list what `takes` can be; empty: nothing to offer.
std::string bash_values(Takes takes) {
  switch (takes) {
    case Takes::file:
      return "$(compgen -f -- \"$word\")";
    case Takes::folder:
      return "$(compgen -d -- \"$word\")";
    case Takes::state:
      return state_words();
    case Takes::key:
      return key_words();
    case Takes::job:
      return "$(queuectl ${db:+--db \"$db\"} __complete jobs ${queue:-default} 2>/dev/null)";
    case Takes::queue:
      return "$(queuectl ${db:+--db \"$db\"} __complete queues 2>/dev/null)";
    case Takes::worker:
      return "$(queuectl ${db:+--db \"$db\"} __complete workers 2>/dev/null)";
    default:
      return "";
  }
}

/// Which words the command line has so far, without the options of every command.
constexpr std::string_view kBashWords =
    "_queuectl() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "  local words=() db= queue= offer= options= values= i\n"
    "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "    case ${COMP_WORDS[i]} in\n"
    "      --db) db=${COMP_WORDS[++i]} ;;\n"
    "      --color) ((++i)) ;;\n"
    "      --queue | -Q) queue=${COMP_WORDS[++i]} ;;\n"
    "      -*) ;;\n"
    "      *) words+=(\"${COMP_WORDS[i]}\") ;;\n"
    "    esac\n"
    "  done\n"
    "  local first=${words[0]} second=${words[1]}\n";

std::string bash_script() {
  std::vector<std::string> firsts;
  std::string groups;
  for (const auto& [first, seconds] : command_words()) {
    firsts.push_back(first);
    if (!seconds.empty())
      groups +=
          "    " + first + ") offer=\"" + joined({seconds.begin(), seconds.end()}) + "\" ;;\n";
  }
  std::string options;
  std::string values;
  for (const Command& command : all_commands()) {
    options += "    '" + std::string(command.name) + "'";
    if (!command.alias.empty()) options += "|'" + std::string(command.alias) + "'";
    options += ") options=\"" + joined(option_names(command)) + "\"";
    if (const std::string some = bash_values(command.takes); !some.empty())
      options += "; values=\"" + some + "\"";
    options += " ;;\n";
  }
  std::map<std::string, Takes> taking;
  for (const Command& command : all_commands())
    for (const Option& option : command.options)
      if (!option.value.empty()) taking[std::string(option.name)] = option.takes;
  for (const Option& option : global_options())
    if (!option.value.empty()) taking[std::string(option.name)] = option.takes;
  for (const auto& [name, takes] : taking)
    values += "    " + name + ") COMPREPLY=($(compgen -W \"" + bash_values(takes) +
              "\" -- \"$word\")); return ;;\n";
  return "# bash completion for queuectl:  source <(queuectl completion bash)\n" +
         std::string(kBashWords) +
         "  COMPREPLY=()\n"
         "  if ((${#words[@]} == 0)) && [[ $before != --db && $before != --color ]]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         joined(firsts) + " help " + joined(option_names({})) +
         "\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $before in\n" +
         values +
         "  esac\n"
         "  case $first in\n" +
         groups +
         "  esac\n"
         "  if [[ -n $offer ]] && ((${#words[@]} == 1)); then\n"
         "    COMPREPLY=($(compgen -W \"$offer\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  local command=$first\n"
         "  [[ -n $offer ]] && command=\"$first $second\"\n"
         "  case $command in\n" +
         options +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _queuectl queuectl\n";
}

std::string zsh_script() {
  return "#compdef queuectl\n"
         "# zsh completion for queuectl:  source <(queuectl completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script();
}

std::string in_single_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("\\'") : std::string(1, c);
  return quoted + "'";
}

std::string fish_values(Takes takes) {
  switch (takes) {
    case Takes::file:
      return " -r -F";
    case Takes::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Takes::state:
      return " -x -a '" + state_words() + "'";
    case Takes::key:
      return " -x -a '" + key_words() + "'";
    case Takes::job:
      return " -x -a '(queuectl __complete jobs 2>/dev/null)'";
    case Takes::queue:
      return " -x -a '(queuectl __complete queues 2>/dev/null)'";
    case Takes::worker:
      return " -x -a '(queuectl __complete workers 2>/dev/null)'";
    default:
      return " -x";
  }
}

std::string fish_script() {
  std::string text =
      "# fish completion for queuectl:  queuectl completion fish | source\n"
      "complete -c queuectl -f\n";
  const auto option_line = [](const std::string& when, const Option& option) {
    std::string line = "complete -c queuectl" + when + " -l " + std::string(option.name.substr(2));
    if (option.letter != 0) line += std::string(" -s ") + option.letter;
    if (!option.value.empty()) line += fish_values(option.takes);
    return line + " -d " + in_single_quotes(option.help) + "\n";
  };
  for (const Option& option : global_options()) text += option_line("", option);
  for (const Command& command : all_commands()) {
    const std::string name(command.name);
    const auto blank = name.find(' ');
    const std::string first = name.substr(0, blank);
    std::string seen = "__fish_seen_subcommand_from " + first;
    if (blank == std::string::npos) {
      text += "complete -c queuectl -n __fish_use_subcommand -a " + first + " -d " +
              in_single_quotes(command.summary) + "\n";
    } else {
      text += "complete -c queuectl -n __fish_use_subcommand -a " + first + "\n";
      text += "complete -c queuectl -n '" + seen + "' -a " + name.substr(blank + 1) + " -d " +
              in_single_quotes(command.summary) + "\n";
      seen += "; and __fish_seen_subcommand_from " + name.substr(blank + 1);
    }
    if (command.takes != Takes::nothing && command.takes != Takes::text)
      text += "complete -c queuectl -n '" + seen + "'" + fish_values(command.takes) + "\n";
    for (const Option& option : command.options) text += option_line(" -n '" + seen + "'", option);
  }
  return text;
}

Result<int> completion(Context& context, const Arguments& arguments) {
  constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};
  const std::string shell = arguments.words().empty() ? "" : arguments.words().front();
  if (shell == "bash")
    context.print(bash_script());
  else if (shell == "zsh")
    context.print(zsh_script());
  else if (shell == "fish")
    context.print(fish_script());
  else
    return error(Code::invalid_argument,
                 "say which shell: bash, zsh or fish; " + did_you_mean(shell, kShells));
  return kOk;
}

}  // namespace

Result<int> complete_words(Context& context, std::string_view what, const std::string& queue) {
  constexpr std::size_t kWordsMax = 200;
  SLUICE_LET(queues, context.queues());
  std::string text;
  if (what == "queues") {
    SLUICE_LET(all, queues->list_queues());
    for (const queue::Queue& one : all) text += visible(one.name) + "\n";
  } else if (what == "workers") {
    SLUICE_LET(all, live_workers(context));
    for (const worker::LiveWorker& one : all) text += short_worker(one.worker.name) + "\n";
  } else {
    SLUICE_LET(page, queues->list({.queue = queue, .limit = kWordsMax}));
    for (const queue::Job& job : page.jobs) text += visible(job.id) + "\n";
  }
  context.print(text);
  return kOk;
}

std::vector<Command> completion_commands() {
  return {
      {.name = "completion",
       .alias = "",
       .arguments = "bash | zsh | fish",
       .summary = "print a script that completes commands, options, jobs and queues",
       .details = "  source <(queuectl completion bash)",
       .options = {},
       .takes = Takes::text,
       .run = completion},
  };
}

}  // namespace sluice::cli
