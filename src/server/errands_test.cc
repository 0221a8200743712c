// SPDX-License-Identifier: MIT
#include "server/errands.h"

#include <gtest/gtest.h>

#include <atomic>

namespace sluice::server {
namespace {

TEST(Errands, all_are_run_before_the_end) {
  std::atomic<int> run = 0;
  {
    Errands errands(3);
    for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(errands.run([&] { ++run; }));
  }
  EXPECT_EQ(run, 1'000);
}

TEST(Errands, too_many_are_refused) {
  std::atomic<bool> go = false;
  std::atomic<bool> begun = false;
  Errands errands(1, 2);
  EXPECT_TRUE(errands.run([&] {
    begun = true;
    begun.notify_all();
    go.wait(false);
  }));
  begun.wait(false);
  EXPECT_TRUE(errands.run([] {}));
  EXPECT_TRUE(errands.run([] {}));
  EXPECT_FALSE(errands.run([] {}));
  go = true;
  go.notify_all();
}

}  // namespace
}  // namespace sluice::server
