// SPDX-License-Identifier: MIT
#include "worker/environments.h"

#include <gtest/gtest.h>

namespace sluice::worker {
namespace {

struct Bench {
  ManualClock clock;
  std::unique_ptr<kv::Store> store = kv::open_memory({.clock = &clock});

  std::string keep(const Environment& environment) const {
    const std::string id = environment_id(environment).value();
    EXPECT_TRUE(store->run([&](kv::Transaction& txn) {
      return keep_environment(txn, id, environment, store->now());
    }));
    return id;
  }
};

TEST(Environments, one_is_kept_once_under_a_name_of_its_content) {
  const Bench bench;
  const Environment environment{"A=1", "B=\xff", "C=" + std::string(3'000, 'x')};
  const std::string id = bench.keep(environment);
  EXPECT_EQ(bench.keep(environment), id);
  EXPECT_NE(bench.keep({"A=2"}), id);
  EXPECT_EQ(get_environment(*bench.store, id).value(), environment);
  EXPECT_EQ(get_environment(*bench.store, "nobody").error().code(), Code::not_found);
}

TEST(Environments, the_limit_holds_at_its_edge_and_not_one_past_it) {
  const Bench bench;
  const auto of_bytes = [](std::size_t bytes) {
    return Environment{"A=" + std::string(bytes - 4, 'x')};  // Two of the tuple, two of the name.
  };
  bench.keep(of_bytes(kEnvironmentBytesMax));
  EXPECT_EQ(environment_id(of_bytes(kEnvironmentBytesMax + 1)).error().code(),
            Code::invalid_argument);
}

TEST(Environments, those_that_nobody_uses_go_after_a_while) {
  const Bench bench;
  const std::string used = bench.keep({"A=used"});
  const std::string idle = bench.keep({"A=idle"});
  const std::string again = bench.keep({"A=again"});
  bench.clock.advance(2 * kEnvironmentUse);
  bench.keep({"A=again"});
  const WallTime before = bench.store->now() - kEnvironmentUse;
  EXPECT_EQ(drop_environments(*bench.store, {used}, before).value(), 1);
  EXPECT_TRUE(get_environment(*bench.store, used));
  EXPECT_TRUE(get_environment(*bench.store, again));
  EXPECT_FALSE(get_environment(*bench.store, idle));
}

TEST(Environments, the_cache_answers_for_the_empty_one_and_remembers) {
  const Bench bench;
  EnvironmentCache cache(*bench.store);
  EXPECT_TRUE(cache.get("").value()->empty());
  const std::string id = bench.keep({"A=1"});
  EXPECT_EQ(*cache.get(id).value(), Environment{"A=1"});
  EXPECT_EQ(cache.get(id).value(), cache.get(id).value());
  EXPECT_FALSE(cache.get("nobody"));
}

}  // namespace
}  // namespace sluice::worker
