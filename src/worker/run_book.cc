// SPDX-License-Identifier: MIT
#include "worker/run_book.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "worker/places.h"

namespace sluice::worker {
namespace {

// "TOKEN PID STARTED\n", padded with blanks, at slot * kLineBytes after a first line: the boot
// id and the identity of the lock file.
constexpr std::size_t kLineBytes = 96;

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string padded(std::string text) {
  text.resize(kLineBytes - 1, ' ');
  return text + "\n";
}

std::optional<RunNote> parse_note(const std::string& line) {
  char token[64] = {};
  long long pid = 0;
  long long started = 0;
  if (std::sscanf(line.c_str(), "%60s %lld %lld", token, &pid, &started) != 3) return {};
  const auto parsed = queue::Token::parse(token);
  if (!parsed) return {};
  return RunNote{
      .token = *parsed, .session = static_cast<pid_t>(pid), .started = MonoTime(Duration(started))};
}

}  // namespace

Result<RunBook> RunBook::open(const std::string& dir, const std::string& worker,
                              const std::string& identity) {
  const std::string path = run_book_path(dir, worker);
  mkdir(path.substr(0, path.rfind('/')).c_str(), 0700);
  Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string head = padded(boot_id() + " " + identity);
  if (!file.valid() ||
      pwrite(file.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()))
    return error(errno == ENOSPC ? Code::storage_full : Code::unavailable,
                 "cannot write " + path + ": " + std::strerror(errno));
  return RunBook(std::move(file));
}

void RunBook::note(unsigned slot, const RunNote& note) const {
  const std::string line = padded(note.token.to_string() + " " + std::to_string(note.session) +
                                  " " + std::to_string(note.started.time_since_epoch().count()));
  [[maybe_unused]] const auto ignored =
      pwrite(file_.get(), line.data(), line.size(), static_cast<off_t>((slot + 1) * kLineBytes));
}

std::vector<RunNote> read_run_book(const std::string& dir, const std::string& worker,
                                   const std::string& identity) {
  std::vector<RunNote> notes;
  std::ifstream file(run_book_path(dir, worker));
  std::string line;
  if (!std::getline(file, line) || !line.starts_with(boot_id() + " " + identity + " "))
    return notes;
  while (std::getline(file, line)) {
    // Slots that were never used are a gap of zero bytes before the line of the next.
    if (const auto text = line.find_first_not_of('\0'); text != std::string::npos)
      if (const auto note = parse_note(line.substr(text))) notes.push_back(*note);
  }
  return notes;
}

void remove_run_book(const std::string& dir, const std::string& worker) {
  unlink(run_book_path(dir, worker).c_str());
}

}  // namespace sluice::worker
