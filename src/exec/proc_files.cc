// SPDX-License-Identifier: MIT
#include "exec/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <memory>

#include "base/descriptor.h"

namespace sluice::exec {
namespace {

// Of field 9 of /proc/PID/stat (include/linux/sched.h).
constexpr std::int64_t kFlagExiting = 0x4;
constexpr std::int64_t kFlagKernelThread = 0x20'0000;
// Loading takes some 100 microseconds; who takes longer is looked at in the next pass.
constexpr int kEnvAttempts = 20;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Directory = std::unique_ptr<DIR, CloseDir>;

std::string proc_path(pid_t pid, std::string_view name) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(name);
}

// Nothing if it cannot be opened.
std::optional<std::string> read_whole(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return {};
  std::string text;
  std::array<char, 4096> chunk;
  for (ssize_t count = 1; count > 0;) {
    count = ::read(file.get(), chunk.data(), chunk.size());
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno == EINTR) count = 1;
  }
  return text;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  std::vector<std::string_view> words;
  for (std::size_t begin = 0;;) {
    begin = text.find_first_not_of(kBlanks, begin);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
}

// The parts of `text` before each `mark`, and what follows the last one. Stops at the first yes.
template <class Visit>
bool any_part(std::string_view text, char mark, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(mark), text.size());
    if (visit(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

template <class Visit>
bool any_range_of(const std::string& path, Visit visit) {
  return any_part(read_whole(path).value_or(""), '\n', [&](std::string_view line) {
    const auto range = parse_lock_line(line);
    return range && visit(*range);
  });
}

// The numbers that name entries of a directory.
std::optional<std::vector<int>> numbers_in(const std::string& path) {
  const Directory dir(::opendir(path.c_str()));
  if (!dir) return {};
  std::vector<int> numbers;
  while (const dirent* entry = ::readdir(dir.get()))
    if (const auto number = number_of<int>(entry->d_name)) numbers.push_back(*number);
  return numbers;
}

}  // namespace

std::optional<ProcessLine> parse_process_line(std::string_view text) {
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  const std::vector<std::string_view> words = words_of(text.substr(close + 1));
  if (words.size() < 52 - 2) return {};
  // By their numbers in proc(5): 1 comes before the name, which is 2.
  const auto field = [&](std::size_t number) {
    return number_of<std::int64_t>(words[number - 3]).value_or(0);
  };
  const std::string_view state = words[0];
  const bool ended = state == "Z" || state == "X" || state == "x";
  ProcessLine line{.pid = number_of<pid_t>(text.substr(0, open)).value_or(0),
                   .group = static_cast<pid_t>(field(5)),
                   .session = static_cast<pid_t>(field(6)),
                   .started = static_cast<std::uint64_t>(field(22)),
                   .lives = !ended || field(20) > 1,
                   .leaves = (field(9) & (kFlagExiting | kFlagKernelThread)) != 0};
  if (field(51) > 0) line.env_bytes = static_cast<std::uint64_t>(field(51) - field(50));
  return line;
}

std::optional<HeldRange> parse_lock_line(std::string_view line) {
  // lock: 1: OFDLCK ADVISORY WRITE -1 08:01:1234 0 EOF
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() != 9 || words[0] != "lock:" || words[2] != "OFDLCK") return {};
  const auto first = number_of<std::uint64_t>(words[7]);
  const auto last = number_of<std::uint64_t>(words[8]);
  if (!first || (!last && words[8] != "EOF")) return {};
  return HeldRange{.file = std::string(words[6]),
                   .first = *first,
                   .last = last.value_or(std::numeric_limits<std::uint64_t>::max())};
}

std::optional<ProcessLine> read_process(pid_t pid) {
  return parse_process_line(read_whole(proc_path(pid, "stat")).value_or(""));
}

std::optional<std::vector<pid_t>> read_pids() {
  auto pids = numbers_in("/proc");
  if (pids) std::ranges::reverse(*pids);
  return pids;
}

// While a program is being loaded, its environment reads as empty, or ends too early: for that
// moment, a process would lose its mark. What was read counts only if it is all.
Answer any_env_entry(pid_t pid, const std::function<bool(std::string_view)>& wanted) {
  for (int attempt = 0; attempt < kEnvAttempts; ++attempt) {
    const auto text = read_whole(proc_path(pid, "environ"));
    if (!text) return Answer::no;
    if (any_part(*text, '\0', wanted)) return Answer::yes;
    const auto process = read_process(pid);
    if (!process || !process->lives || process->leaves) return Answer::no;
    if (process->env_bytes && text->size() >= *process->env_bytes) return Answer::no;
    ::sched_yield();
  }
  return Answer::unclear;
}

bool any_held_range(pid_t pid, int first_fd, const std::function<bool(const HeldRange&)>& wanted) {
  const std::string dir = proc_path(pid, "fdinfo");
  if (any_range_of(dir + "/" + std::to_string(first_fd), wanted)) return true;
  for (const int fd : numbers_in(dir).value_or(std::vector<int>()))
    if (fd != first_fd && any_range_of(dir + "/" + std::to_string(fd), wanted)) return true;
  return false;
}

std::vector<HeldRange> held_ranges_of_own(int fd) {
  std::vector<HeldRange> ranges;
  any_range_of("/proc/thread-self/fdinfo/" + std::to_string(fd), [&](const HeldRange& range) {
    ranges.push_back(range);
    return false;
  });
  return ranges;
}

}  // namespace sluice::exec
