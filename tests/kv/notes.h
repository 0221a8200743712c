// SPDX-License-Identifier: MIT
// What a process that posts to a ledger says about it, in a file that outlives the process: the
// ground truth of the crash tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/kv/ledger.h"

namespace sluice::test {

/// Writes notes, each with one write() to a file opened for appending: nothing is buffered, so a
/// kill loses nothing that was said. Thread-safe.
class Notes {
 public:
  explicit Notes(const std::string& path);
  ~Notes();
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  /// Before the posting is made.
  void started(const Posting& posting) const { say('S', posting); }
  /// After it was acknowledged.
  void acked(const Posting& posting) const { say('A', posting); }
  /// It failed in a way that promises that nothing happened.
  void failed(const Posting& posting) const { say('F', posting); }

 private:
  void say(char what, const Posting& posting) const;
  int fd_;
};

/// Brings `truth` up to date with lines of notes; one that is not complete was never said.
void apply_notes(std::string_view lines, Truth& truth);

/// For a command line: "LANE:ACKED:IN_FLIGHT,...".
std::string encode_truth(const Truth& truth);
Truth decode_truth(const std::string& text);

}  // namespace sluice::test
