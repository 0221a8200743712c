// SPDX-License-Identifier: MIT
#include "tests/queue/crash/notes.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "base/check.h"

namespace sluice::test {
namespace {

constexpr std::array<const char*, kVerbCount> kVerbNames = {
    "enqueue", "claim", "extend", "ack",         "fail", "release", "cancel",
    "requeue", "hold",  "unhold", "break_lease", "edit", "look",    "time"};

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string from_dash(const std::string& text) {
  return text == "-" ? "" : text;
}

Note decode_note(const std::string& line) {
  std::istringstream words(line);
  Note note;
  char phase = 0;
  unsigned verb = 0;
  unsigned code = 0;
  unsigned lane = 0;
  words >> phase >> verb >> note.thread >> note.call >> note.queue >> note.id >> note.token >>
      note.operation >> code >> note.stamp_us >> note.span_ms >> note.until_ms >> note.store_us >>
      note.dead >> lane >> note.claims >> note.attempts >> note.lapses;
  SLUICE_CHECK(words && verb < kVerbCount && code < kCodeCount);
  note.answer = phase == 'A';
  note.verb = static_cast<Verb>(verb);
  note.code = static_cast<Code>(code);
  note.lane = static_cast<std::uint8_t>(lane);
  for (std::string* text : {&note.id, &note.token, &note.operation}) *text = from_dash(*text);
  return note;
}

}  // namespace

const char* verb_name(Verb verb) {
  return kVerbNames.at(static_cast<std::size_t>(verb));
}

std::string encode_note(const Note& note) {
  std::ostringstream words;
  words << (note.answer ? 'A' : 'S') << ' ' << static_cast<unsigned>(note.verb) << ' '
        << note.thread << ' ' << note.call << ' ' << note.queue << ' ' << or_dash(note.id) << ' '
        << or_dash(note.token) << ' ' << or_dash(note.operation) << ' '
        << static_cast<unsigned>(note.code) << ' ' << note.stamp_us << ' ' << note.span_ms << ' '
        << note.until_ms << ' ' << note.store_us << ' ' << note.dead << ' '
        << static_cast<unsigned>(note.lane) << ' ' << note.claims << ' ' << note.attempts << ' '
        << note.lapses << ' ';
  std::string line = words.str();
  SLUICE_CHECK(line.size() < kNoteBytes);
  line.resize(kNoteBytes - 1, ' ');
  return line + "\n";
}

std::vector<Note> decode_notes(std::string_view lines) {
  std::vector<Note> notes;
  for (; lines.size() >= kNoteBytes; lines.remove_prefix(kNoteBytes))
    notes.push_back(decode_note(std::string(lines.substr(0, kNoteBytes))));
  return notes;
}

Notes::Notes(const std::string& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  SLUICE_CHECK(fd_ >= 0);
}

Notes::~Notes() {
  ::close(fd_);
}

void Notes::say(const Note& note) const {
  const std::string line = encode_note(note);
  SLUICE_CHECK(::write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
}

}  // namespace sluice::test
