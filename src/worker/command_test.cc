// SPDX-License-Identifier: MIT
#include "worker/command.h"

#include <gtest/gtest.h>

namespace sluice::worker {
namespace {

Command full() {
  return {.argv = {"convert", "two words", "\xff\x01", ""},
          .cwd = "/a b",
          .environment = std::string(16, '\x07'),
          .set = {"A=1", "B="},
          .timeout = std::chrono::milliseconds(1'500),
          .kill_after = std::chrono::seconds(3),
          .slots = 4,
          .label = "nightly",
          .retry_on = {75, 111},
          .no_retry_on = {0, 255},
          .on_done = "echo done",
          .index = -3};
}

TEST(Command, is_read_as_it_was_written) {
  const Command text{.text = "echo hi\n\tthere"};
  for (const Command& command : {text, full()}) {
    const auto read = decode_command(encode(command));
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, command);
  }
}

TEST(Command, a_payload_of_another_program_is_none) {
  for (const char* payload : {"", "hello", "{\"command\":\"true\"}"})
    EXPECT_EQ(decode_command(payload).error().code(), Code::corrupt) << payload;
  std::string damaged = encode(full());
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  EXPECT_EQ(decode_command(damaged).error().code(), Code::corrupt);
}

TEST(Command, every_limit_holds_at_its_edge_and_not_one_past_it) {
  const auto refused = [](const Command& command) {
    return check(command).code() == Code::invalid_argument;
  };
  EXPECT_TRUE(check(full()).ok());
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({.text = "a", .argv = {"b"}}));
  EXPECT_TRUE(refused({.argv = {"", "x"}}));
  EXPECT_TRUE(refused({.text = std::string("a\0b", 3)}));
  EXPECT_TRUE(refused({.argv = {"a", std::string("\0", 1)}}));
  EXPECT_FALSE(refused({.text = std::string(kCommandBytesMax, 'x')}));
  EXPECT_TRUE(refused({.text = std::string(kCommandBytesMax + 1, 'x')}));
  EXPECT_FALSE(refused({.argv = std::vector<std::string>(kWordsMax, "x")}));
  EXPECT_TRUE(refused({.argv = std::vector<std::string>(kWordsMax + 1, "x")}));
  EXPECT_FALSE(refused({.text = "a", .timeout = kTimeoutMax}));
  EXPECT_TRUE(refused({.text = "a", .timeout = kTimeoutMax + Duration(1)}));
  EXPECT_TRUE(refused({.text = "a", .kill_after = Duration(-1)}));
  EXPECT_FALSE(refused({.text = "a", .slots = kSlotsMax}));
  EXPECT_TRUE(refused({.text = "a", .slots = kSlotsMax + 1}));
  EXPECT_TRUE(refused({.text = "a", .slots = 0}));
  EXPECT_TRUE(refused({.text = "a", .set = {"NOVALUE"}}));
  EXPECT_TRUE(refused({.text = "a", .set = {"=x"}}));
  EXPECT_TRUE(refused({.text = "a", .cwd = "relative"}));
}

TEST(Command, is_shown_as_a_person_would_type_it) {
  EXPECT_EQ(to_line({.text = "echo $HOME"}), "echo $HOME");
  EXPECT_EQ(to_line({.argv = {"cp", "-a", "my file", "it's", ""}}),
            "cp -a 'my file' 'it'\\''s' ''");
}

TEST(Command, exit_codes_decide_about_another_try) {
  EXPECT_TRUE(may_retry({}, 1));
  EXPECT_FALSE(may_retry({.no_retry_on = {1}}, 1));
  EXPECT_TRUE(may_retry({.no_retry_on = {1}}, 2));
  EXPECT_TRUE(may_retry({.retry_on = {75}}, 75));
  EXPECT_FALSE(may_retry({.retry_on = {75}}, 1));
}

}  // namespace
}  // namespace sluice::worker
