// SPDX-License-Identifier: MIT
#include "tests/kv/notes.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "base/check.h"

namespace sluice::test {

Notes::Notes(const std::string& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  SLUICE_CHECK(fd_ >= 0);
}

Notes::~Notes() {
  ::close(fd_);
}

// Every note has the same size, so that none lies across two pages: a kill between two pages would
// leave half of it.
void Notes::say(char what, const Posting& posting) const {
  constexpr std::size_t kNoteBytes = 32;
  std::array<char, kNoteBytes + 1> line{};
  std::snprintf(line.data(), line.size(), "%c %2u %*llu\n", what, posting.lane,
                static_cast<int>(kNoteBytes) - 6, static_cast<unsigned long long>(posting.number));
  SLUICE_CHECK(::write(fd_, line.data(), kNoteBytes) == kNoteBytes);
}

void apply_notes(std::string_view lines, Truth& truth) {
  std::istringstream stream{std::string(lines.substr(0, lines.rfind('\n') + 1))};
  char what = 0;
  unsigned lane = 0;
  std::uint64_t number = 0;
  while (stream >> what >> lane >> number) {
    LaneTruth& known = truth[lane];
    known.in_flight = what == 'S';
    if (what == 'A') known.acked = number;
  }
}

std::string encode_truth(const Truth& truth) {
  std::string text;
  for (const auto& [lane, known] : truth)
    text += (text.empty() ? "" : ",") + std::to_string(lane) + ":" + std::to_string(known.acked) +
            ":" + (known.in_flight ? "1" : "0");
  return text;
}

Truth decode_truth(const std::string& text) {
  Truth truth;
  std::istringstream stream(text);
  unsigned lane = 0;
  char colon = 0;
  LaneTruth known;
  while (stream >> lane >> colon >> known.acked >> colon >> known.in_flight) {
    truth[lane] = known;
    stream >> colon;
  }
  return truth;
}

}  // namespace sluice::test
