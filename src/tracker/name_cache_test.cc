// SPDX-License-Identifier: MIT
#include "tracker/name_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "net/testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;
using Found = Result<std::vector<net::Address>>;

TEST(NameCache, a_name_is_looked_up_once_in_its_life) {
  const ManualClock clock;
  unsigned asked = 0;
  NameCache cache(
      [&](const std::string&, std::uint16_t port) {
        ++asked;
        return Found({*net::numeric_address("192.0.2.1", port)});
      },
      clock);
  ASSERT_TRUE(cache.find("a.test", 80));
  clock.advance(5min - 1ns);
  EXPECT_EQ(net::peer_name(cache.find("a.test", 80)->front().storage), "192.0.2.1");
  EXPECT_EQ(asked, 1u);
  EXPECT_TRUE(cache.find("a.test", 81));
  EXPECT_TRUE(cache.find("b.test", 80));
  EXPECT_EQ(asked, 3u);
  clock.advance(1ns);
  EXPECT_TRUE(cache.find("a.test", 80));
  EXPECT_EQ(asked, 4u);
}

TEST(NameCache, a_failure_lives_shorter) {
  for (const bool fails : {false, true}) {
    const ManualClock clock;
    unsigned asked = 0;
    NameCache cache(
        [&](const std::string&, std::uint16_t) {
          ++asked;
          return fails ? Found(error(Code::unavailable, "none"))
                       : Found(std::vector<net::Address>());
        },
        clock);
    EXPECT_EQ(cache.find("a.test", 80).has_value(), !fails);
    clock.advance(30s - 1ns);
    EXPECT_EQ(cache.find("a.test", 80).has_value(), !fails);
    EXPECT_EQ(asked, 1u);
    clock.advance(1ns);
    EXPECT_EQ(cache.find("a.test", 80).has_value(), !fails);
    EXPECT_EQ(asked, 2u);
  }
}

TEST(NameCache, who_asks_meanwhile_waits_for_the_same_answer) {
  const ManualClock clock;
  std::atomic<unsigned> asked = 0;
  std::latch may_find(1);
  NameCache cache(
      [&](const std::string& host, std::uint16_t port) {
        ++asked;
        if (host == "slow.test") may_find.wait();
        return Found({*net::numeric_address("192.0.2.1", port)});
      },
      clock);
  std::atomic<unsigned> found = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] { found += cache.find("slow.test", 80).has_value() ? 1 : 0; });
    net::until([&] { return asked == 1; });
    EXPECT_TRUE(cache.find("other.test", 80));
    clock.advance(1h);
    EXPECT_TRUE(cache.find("third.test", 80));
    EXPECT_EQ(found, 0u);
    may_find.count_down();
  }
  EXPECT_EQ(found, 8u);
  EXPECT_EQ(asked, 3u);
}

}  // namespace
}  // namespace sluice::tracker
