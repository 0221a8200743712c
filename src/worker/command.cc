// SPDX-License-Identifier: MIT
#include "worker/command.h"

#include <algorithm>

#include "codec/record.h"
#include "codec/tuple.h"

namespace sluice::worker {
namespace {

using codec::RecordFormat;
using codec::RecordReader;
using codec::RecordWriter;

constexpr RecordFormat kCommand{.type = 32, .major = 1, .minor = 0, .field_max = 13};

std::string encode_words(const std::vector<std::string>& words) {
  codec::TupleWriter tuple;
  for (const auto& word : words) tuple.string(word);
  return tuple.take();
}

Result<std::vector<std::string>> decode_words(std::string_view bytes) {
  std::vector<std::string> words;
  codec::TupleReader reader(bytes);
  for (;;) {
    SLUICE_LET(kind, reader.peek());
    if (kind == codec::TupleKind::end) return words;
    SLUICE_LET(word, reader.string());
    words.push_back(std::move(word));
  }
}

std::string encode_codes(const std::vector<std::uint8_t>& codes) {
  return {codes.begin(), codes.end()};
}

std::vector<std::uint8_t> decode_codes(std::string_view bytes) {
  return {bytes.begin(), bytes.end()};
}

std::uint64_t to_ms(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

Duration from_ms(std::uint64_t ms) {
  return std::chrono::milliseconds(ms);
}

Status check_time(std::string_view what, Duration value) {
  if (value >= Duration{} && value <= kTimeoutMax) return {};
  return error(Code::invalid_argument, std::string(what) + " must be between 0 and 366 days");
}

Status check_words(const Command& command) {
  if (command.text.empty() == command.argv.empty())
    return error(Code::invalid_argument, "there is no command: say what to run");
  if (command.text.empty() && command.argv.front().empty())
    return error(Code::invalid_argument, "the name of the program is empty: say what to run");
  if (command.argv.size() > kWordsMax)
    return error(Code::invalid_argument, "the command has more than 4,096 words: use a script");
  std::size_t bytes = command.text.size();
  bool nul = command.text.find('\0') != std::string::npos;
  for (const auto& word : command.argv) {
    bytes += word.size();
    nul = nul || word.find('\0') != std::string::npos;
  }
  if (nul)
    return error(Code::invalid_argument, "the command holds a NUL byte: no program can take that");
  if (bytes > kCommandBytesMax)
    return error(Code::invalid_argument, "the command has " + std::to_string(bytes) +
                                             " bytes and 131,071 is the most: put it into a script "
                                             "and run that");
  return {};
}

/// Whether a shell reads the word as it stands.
bool is_plain(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  return !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
}

std::string quoted(std::string_view word) {
  if (is_plain(word)) return std::string(word);
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

}  // namespace

Status check(const Command& command) {
  SLUICE_TRY(check_words(command));
  SLUICE_TRY(check_time("the timeout", command.timeout));
  SLUICE_TRY(check_time("the time between SIGTERM and SIGKILL", command.kill_after));
  if (command.slots < 1 || command.slots > kSlotsMax)
    return error(Code::invalid_argument, "a job takes 1 to 1,024 slots");
  for (const auto& one : command.set) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || one.find('\0') != std::string::npos)
      return error(Code::invalid_argument, "\"" + one + "\" is not NAME=value");
  }
  if (!command.cwd.empty() && command.cwd.front() != '/')
    return error(Code::invalid_argument,
                 "the working directory \"" + command.cwd + "\" must begin with /");
  return {};
}

std::string encode(const Command& command) {
  RecordWriter writer(kCommand, 256 + command.text.size());
  const auto bytes = [&](unsigned field, std::string_view value) {
    if (!value.empty()) writer.field(field, value);
  };
  bytes(1, command.text);
  bytes(2, encode_words(command.argv));
  bytes(3, command.cwd);
  bytes(4, command.environment);
  bytes(5, encode_words(command.set));
  if (command.timeout != Duration{}) writer.field(6, to_ms(command.timeout));
  if (command.kill_after != kKillAfter) writer.field(7, to_ms(command.kill_after));
  if (command.slots != 1) writer.field(8, command.slots);
  bytes(9, command.label);
  bytes(10, encode_codes(command.retry_on));
  bytes(11, encode_codes(command.no_retry_on));
  bytes(12, command.on_done);
  if (command.index) writer.field_signed(13, *command.index);
  return writer.finish();
}

Result<Command> decode_command(std::string_view payload) {
  SLUICE_LET(record, RecordReader::open(payload, kCommand));
  Command command;
  for (const auto& field : record) {
    switch (field.number) {
      case 1:
        command.text = field.bytes;
        break;
      case 2: {
        SLUICE_LET(argv, decode_words(field.bytes));
        command.argv = std::move(argv);
        break;
      }
      case 3:
        command.cwd = field.bytes;
        break;
      case 4:
        command.environment = field.bytes;
        break;
      case 5: {
        SLUICE_LET(set, decode_words(field.bytes));
        command.set = std::move(set);
        break;
      }
      case 6:
        command.timeout = from_ms(field.integer);
        break;
      case 7:
        command.kill_after = from_ms(field.integer);
        break;
      case 8:
        command.slots = static_cast<std::uint32_t>(field.integer);
        break;
      case 9:
        command.label = field.bytes;
        break;
      case 10:
        command.retry_on = decode_codes(field.bytes);
        break;
      case 11:
        command.no_retry_on = decode_codes(field.bytes);
        break;
      case 12:
        command.on_done = field.bytes;
        break;
      case 13: {
        SLUICE_LET(index, record.i64(13));
        command.index = index;
        break;
      }
      default:
        break;
    }
  }
  return command;
}

std::string to_line(const Command& command) {
  if (!command.text.empty()) return command.text;
  std::string line;
  for (const auto& word : command.argv) line.append(line.empty() ? "" : " ").append(quoted(word));
  return line;
}

bool may_retry(const Command& command, int exit_code) {
  const auto listed = [&](const std::vector<std::uint8_t>& codes) {
    return std::ranges::find(codes, exit_code) != codes.end();
  };
  if (!command.retry_on.empty() && !listed(command.retry_on)) return false;
  return !listed(command.no_retry_on);
}

}  // namespace sluice::worker
