// SPDX-License-Identifier: MIT
// What a process says about the calls it makes, in a file that outlives it: the ground truth of
// the crash loop, and the history that the history check judges.
#pragma once

#include <sluice/job.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

enum class Verb : std::uint8_t {
  enqueue,
  claim,
  extend,
  ack,
  fail,
  release,
  cancel,
  requeue,
  hold,
  unhold,
  break_lease,
  edit,
  look,
  time,
};
inline constexpr std::size_t kVerbCount = 14;
const char* verb_name(Verb verb);

/// One item of one call: said before the call is made, and again with the answer. A claim says one
/// note before, then one note per lease, then one without an id: the claim is over.
struct Note {
  bool answer = false;
  Verb verb = Verb::enqueue;
  unsigned thread = 0;
  std::uint64_t call = 0;      ///< Of this thread. A batch is one call with several items.
  char queue = '-';            ///< See workload.h; '*' is any.
  std::string id = {};         ///< Of the job.
  std::string token = {};      ///< As Token::to_string() writes it.
  std::string operation = {};  ///< The operation id.
  Code code = Code::ok;        ///< Of the answer.
  std::int64_t stamp_us = 0;   ///< When: MonoTime.
  std::int64_t span_ms = 0;    ///< The lease asked for; the delay of a fail or release.
  std::int64_t until_ms = 0;   ///< Answered by claim and extend: the deadline in store time.
  std::int64_t store_us = 0;   ///< Answered by time: store time.
  bool dead = false;           ///< Of a fail.
  std::uint8_t lane = 0;       ///< From here: answered by look; attempts also by claim.
  std::uint64_t claims = 0;
  std::uint32_t attempts = 0;  ///< Before a claim: how many jobs it wants.
  std::uint32_t lapses = 0;

  friend bool operator==(const Note&, const Note&) = default;
};

/// The line of a note, newline included. Always kNoteBytes long, so that none lies across two
/// pages: a kill between two pages would leave half of it.
std::string encode_note(const Note& note);
inline constexpr std::size_t kNoteBytes = 256;
/// The notes of a file. One that is not complete was never said; one that makes no sense stops the
/// process.
std::vector<Note> decode_notes(std::string_view lines);

/// Writes notes, each with one write() to a file opened for appending: nothing is buffered, so a
/// kill loses nothing that was said, and their order is the order in which they were said.
/// Thread-safe.
class Notes {
 public:
  explicit Notes(const std::string& path);
  ~Notes();
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  void say(const Note& note) const;

 private:
  int fd_;
};

}  // namespace sluice::test
