// SPDX-License-Identifier: MIT
// Parse, call, print, exit code.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/help.h"

namespace sluice::cli {
namespace {

std::string version_line() {
  return "queuectl " + std::string(kVersion) + "\n";
}

int report(const Status& status) {
  std::string text = "queuectl: " + visible(status.message()) + "\n";
  if (status.code() == Code::storage_full)
    text +=
        "queuectl: `queuectl doctor` tells whether disk or store is full; "
        "`queuectl config set store-size SIZE` lets the store grow\n";
  write_all(2, text);
  return code_info(status.code()).exit_code;
}

int run(const Command& command, const std::vector<std::string>& words) {
  const auto arguments = Arguments::parse(command, words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) {
    write_all(1, command_help(command));
    return kOk;
  }
  if (arguments->has("--version")) {
    write_all(1, version_line());
    return kOk;
  }
  const auto context = Context::make(*arguments);
  if (!context) return report(context.error());
  const auto code = command.run(**context, *arguments);
  return code ? *code : report(code.error());
}

int start(std::vector<std::string> words) {
  // Options of every command may also stand before it.
  std::vector<std::string> front;
  while (!words.empty() && words.front().starts_with('-')) {
    const bool takes_value = words.front() == "--db" || words.front() == "--color";
    for (int i = 0; i < (takes_value ? 2 : 1) && !words.empty(); ++i) {
      front.push_back(words.front());
      words.erase(words.begin());
    }
  }
  const auto in_front = [&](std::string_view word) {
    return std::ranges::find(front, word) != front.end();
  };
  if (words.empty() && in_front("--version")) {
    write_all(1, version_line());
    return kOk;
  }
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    front.emplace_back("--help");
  }
  if (words.empty()) {
    const bool asked = in_front("--help") || in_front("-h");
    write_all(asked ? 1 : 2, program_help());
    return asked ? kOk : code_info(Code::invalid_argument).exit_code;
  }
  const Command question = complete_command();
  const FoundCommand found =
      words.front() == question.name ? FoundCommand{&question, 1} : find_command(words);
  if (found.command == nullptr) {
    words.insert(words.end(), front.begin(), front.end());
    const auto help = group_help(words);
    if (!help) return report(help.error());
    write_all(1, *help);
    return kOk;
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(found.words));
  words.insert(words.begin(), front.begin(), front.end());
  return run(*found.command, words);
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (const auto& group :
         {enqueue_commands(), look_commands(), logs_commands(), wait_commands(), change_commands(),
          queue_commands(), dlq_commands(), worker_commands(), schedule_commands(), top_commands(),
          watch_commands(), metrics_commands(), health_commands(), keep_commands(),
          config_commands(), completion_commands(), man_commands()})
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }();
  return commands;
}

}  // namespace sluice::cli

namespace {

// The store is a mapped file without checksums of its pages: one that points beyond the file ends
// whoever follows it.
void store_is_damaged(int) {
  constexpr std::string_view kMessage =
      "queuectl: the store is damaged: queuectl verify says more; restore a backup\n";
  [[maybe_unused]] const auto ignored = write(2, kMessage.data(), kMessage.size());
  _exit(sluice::cli::kStorage);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGBUS, store_is_damaged);
  return sluice::cli::start(std::vector<std::string>(argv + 1, argv + argc));
}
