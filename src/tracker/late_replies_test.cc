// SPDX-License-Identifier: MIT
#include "tracker/late_replies.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

constexpr InfoHash kA{{1}};
constexpr InfoHash kB{{2}};

MonoTime at(Duration time) {
  return MonoTime(time);
}

TEST(LateReplies, come_when_their_torrent_is_released_and_never_again) {
  LateReplies late;
  std::string said;
  ASSERT_TRUE(late.add(kA, at(1s), [&] { said += "a"; }));
  ASSERT_TRUE(late.add(kB, at(1s), [&] { said += "b"; }));
  ASSERT_TRUE(late.add(kA, at(2s), [&] { said += "A"; }));
  late.release(kA);
  EXPECT_EQ(said, "aA");
  EXPECT_EQ(late.run_due(at(1s)), MonoTime::max());
  EXPECT_EQ(said, "aAb");
  late.release(kA);
  EXPECT_EQ(late.size(), 0u);
  EXPECT_EQ(said, "aAb");
}

TEST(LateReplies, come_at_their_time_in_its_order) {
  LateReplies late;
  std::string said;
  late.add(kA, at(3s), [&] { said += "3"; });
  late.add(kA, at(1s), [&] { said += "1"; });
  late.add(kB, at(2s), [&] { said += "2"; });
  EXPECT_EQ(late.run_due(at(1s) - 1ns), at(1s));
  EXPECT_EQ(said, "");
  EXPECT_EQ(late.run_due(at(2s)), at(3s));
  EXPECT_EQ(said, "12");
  late.release_all();
  EXPECT_EQ(said, "123");
}

TEST(LateReplies, a_reply_may_add_the_next) {
  LateReplies late;
  int said = 0;
  late.add(kA, at(1s), [&] { late.add(kA, at(2s), [&] { ++said; }); });
  late.release(kA);
  EXPECT_EQ(late.size(), 1u);
  late.release(kA);
  EXPECT_EQ(said, 1);
}

TEST(LateReplies, one_too_many_is_refused) {
  LateReplies late;
  for (std::size_t i = 0; i < LateReplies::kWaitingMax; ++i)
    ASSERT_TRUE(late.add(kA, at(1s), [] {}));
  EXPECT_FALSE(late.add(kA, at(1s), [] {}));
  late.release_all();
  EXPECT_TRUE(late.add(kA, at(1s), [] {}));
}

}  // namespace
}  // namespace sluice::tracker
