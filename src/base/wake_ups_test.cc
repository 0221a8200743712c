// SPDX-License-Identifier: MIT
#include "base/wake_ups.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace sluice {
namespace {

TEST(WakeUps, are_made_at_once_unless_the_thread_puts_them_off) {
  std::string made;
  const auto wake = [&](char name) { WakeUps::make([&made, name] { made += name; }); };
  wake('a');
  EXPECT_EQ(made, "a");
  {
    const WakeUps outer;
    wake('b');
    {
      const WakeUps inner;
      wake('c');
    }
    EXPECT_EQ(made, "a") << "the inner one has ended, not the outer";
    std::jthread([&] { wake('d'); }).join();
    EXPECT_EQ(made, "ad") << "another thread's are its own affair";
  }
  EXPECT_EQ(made, "adbc");
  wake('e');
  EXPECT_EQ(made, "adbce");
}

TEST(WakeUps, one_that_wakes_others_may_do_so_at_the_end) {
  std::string made;
  {
    const WakeUps outer;
    WakeUps::make([&] { WakeUps::make([&] { made += 'a'; }); });
  }
  EXPECT_EQ(made, "a");
}

}  // namespace
}  // namespace sluice
