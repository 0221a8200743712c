// SPDX-License-Identifier: MIT
#include "tests/queue/crash/notes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::test {
namespace {

TEST(CrashNotes, a_note_comes_back_as_it_was_said) {
  const Note note{.answer = true,
                  .verb = Verb::fail,
                  .thread = 3,
                  .call = 77,
                  .queue = 'k',
                  .id = "child-18446744073709551615-1",
                  .token = std::string(48, 'f'),
                  .operation = "op-16777215-3-12345",
                  .code = Code::lease_lost,
                  .stamp_us = INT64_MAX / 1'000,
                  .span_ms = 40,
                  .until_ms = INT64_MAX / 1'000'000,
                  .store_us = INT64_MAX / 1'000,
                  .dead = true,
                  .lane = 7,
                  .claims = 12,
                  .attempts = 9,
                  .lapses = 4};
  const std::string line = encode_note(note);
  EXPECT_EQ(line.size(), kNoteBytes);
  const std::vector<Note> notes = decode_notes(line + line + line.substr(0, 99));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[1], note);
}

}  // namespace
}  // namespace sluice::test
