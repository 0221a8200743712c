// SPDX-License-Identifier: MIT
// Parse, call, print, exit code.
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/output.h"
#include "cli/visible.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/context.h"

// jemalloc reads it before main(). One arena for the few threads there are, and what is free goes
// back to the system after a second: --memory is kept by not holding on to more.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:1,dirty_decay_ms:1000";
}

namespace sluice::cli {
namespace {

constexpr std::array<Option, 2> kGlobal{{
    {"--help", 'h', "", "explain the command", Takes::nothing},
    {"--version", 0, "", "print the version", Takes::nothing},
}};

std::string program_help() {
  std::string text =
      "sluice-migrate: compares two trees of files, durably, and makes the second like the first\n"
      "\nUsage: sluice-migrate COMMAND [OPTIONS]\n\n"
      "  sluice-migrate compare /srv/old /srv/new --state ./ledger   what differs? Changes "
      "nothing\n"
      "  sluice-migrate report --state ./ledger                      every difference, as rsync "
      "-i\n"
      "  sluice-migrate copy --state ./ledger                        carries it out\n"
      "\nA run that ends early, however it ends, goes on where it was when it is started again.\n"
      "\nCommands:\n";
  for (const Command& command : all_commands()) text += command_line(command);
  text += "\nOptions of every command:\n";
  for (const Option& option : kGlobal) text += option_line(option);
  return text + "\nsluice-migrate COMMAND --help explains a command; sluice-migrate man has all.\n";
}

/// Of several lines, as A10's, each is made harmless by itself.
std::string harmless(std::string_view text) {
  std::string all;
  for (;;) {
    const std::size_t end = text.find('\n');
    all += visible(text.substr(0, end));
    if (end == text.npos) return all;
    all += '\n';
    text.remove_prefix(end + 1);
  }
}

/// Of the two disks that can be full, it is the ledger's: names of DST that find no room fail by
/// themselves.
std::string message_of(const Status& status) {
  if (status.code() != Code::storage_full) return status.message();
  return "there is no room left for the ledger: make some on the disk of --state, and the same "
         "command goes on where it was";
}

int report(const Status& status) {
  write_all(2, "sluice-migrate: " + harmless(message_of(status)) + "\n");
  // 1 says that the trees differ.
  const int code = code_info(status.code()).exit_code;
  return code == 1 ? code_info(Code::io_error).exit_code : code;
}

/// "--exclude --state DIR": the value was forgotten, and the next option is not meant to be it. One
/// that does begin so can be written as "--exclude=--odd".
Status check_values(const Command& command, const std::vector<std::string>& words) {
  const auto option_of = [&](std::string_view word) -> const Option* {
    for (const Option& option : command.options)
      if (option.name == word) return &option;
    return nullptr;
  };
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    const Option* const option = option_of(words[i]);
    if (option == nullptr || option->value.empty()) continue;
    if (option_of(words[++i]) != nullptr)
      return {Code::invalid_argument,
              words[i - 1] + " needs a value: " + words[i - 1] + " " + std::string(option->value)};
  }
  return {};
}

int run(const Command& command, const std::vector<std::string>& words) {
  if (const Status values = check_values(command, words); !values.ok()) return report(values);
  const auto arguments = Arguments::parse(command, words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) {
    write_all(1, command_help(command));
    return 0;
  }
  if (arguments->has("--version")) {
    write_all(1, "sluice-migrate " + std::string(kVersion) + "\n");
    return 0;
  }
  Context context(*arguments);
  const auto code = command.run(context, *arguments);
  return code ? *code : report(code.error());
}

int start(std::vector<std::string> words) {
  const bool help =
      !words.empty() && (words[0] == "help" || words[0] == "--help" || words[0] == "-h");
  if (help) words.erase(words.begin());
  if (words.empty()) {
    write_all(help ? 1 : 2, program_help());
    return help ? 0 : code_info(Code::invalid_argument).exit_code;
  }
  if (words.front() == "--version") {
    write_all(1, "sluice-migrate " + std::string(kVersion) + "\n");
    return 0;
  }
  if (help) words.emplace_back("--help");
  const FoundCommand found = find_command(words);
  if (found.command == nullptr) {
    const auto text = group_help(words);
    if (!text) return report(text.error());
    write_all(1, *text);
    return 0;
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(found.words));
  return run(*found.command, words);
}

}  // namespace

std::span<const Option> global_options() {
  return kGlobal;
}

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (const auto& group : {compare_commands(), copy_commands(), report_commands(),
                              status_commands(), ls_commands(), why_commands(), retry_commands(),
                              exclude_commands(), verify_commands(), manual_commands()})
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }();
  return commands;
}

std::string_view program_name() {
  return "sluice-migrate";
}

std::vector<std::string> operands(const Arguments& arguments) {
  std::vector<std::string> all = arguments.words();
  if (const auto& rest = arguments.rest()) all.insert(all.end(), rest->begin(), rest->end());
  return all;
}

Option state_option() {
  return {.name = "--state",
          .value = "DIR",
          .help = "the folder of the ledger",
          .takes = Takes::folder};
}

Option json_option() {
  return {.name = "--json", .value = "", .help = "as JSON", .takes = Takes::nothing};
}

}  // namespace sluice::cli

namespace {

// The ledger is a mapped file without checksums of its pages: one that points beyond the file ends
// whoever follows it.
void ledger_is_damaged(int) {
  constexpr std::string_view kMessage =
      "sluice-migrate: the ledger is damaged, or its disk is: sluice-migrate verify says more; "
      "begin anew with another --state\n";
  [[maybe_unused]] const auto ignored = write(2, kMessage.data(), kMessage.size());
  _exit(5);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGBUS, ledger_is_damaged);
  return sluice::cli::start(std::vector<std::string>(argv + 1, argv + argc));
}
