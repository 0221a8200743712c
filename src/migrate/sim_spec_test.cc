// SPDX-License-Identifier: MIT
#include "migrate/sim_spec.h"

#include <gtest/gtest.h>

namespace sluice::migrate {
namespace {

using namespace std::chrono_literals;

TEST(SimSpec, every_key_is_read) {
  const SimSpec spec =
      parse_sim_spec(
          "sim:seed=7,world=dst2,depth=3,folders=2-5,files=0-9,presence=0.9,differ=0.02,"
          "extra=0.5,latency=10ms,page=1000,errors=0.01,heal=4,mutate=0.25")
          .value();
  EXPECT_EQ(spec.seed, 7u);
  EXPECT_EQ(spec.world, "dst2");
  EXPECT_EQ(spec.depth, 3u);
  EXPECT_EQ(spec.folders.least, 2u);
  EXPECT_EQ(spec.folders.most, 5u);
  EXPECT_EQ(spec.files.least, 0u);
  EXPECT_EQ(spec.files.most, 9u);
  EXPECT_EQ(spec.presence, 0.9);
  EXPECT_EQ(spec.differ, 0.02);
  EXPECT_EQ(spec.extra, 0.5);
  EXPECT_EQ(spec.latency, 10ms);
  EXPECT_EQ(spec.page, 1000u);
  EXPECT_EQ(spec.errors, 0.01);
  EXPECT_EQ(spec.heal, 4u);
  EXPECT_EQ(spec.mutate, 0.25);
}

TEST(SimSpec, a_key_that_is_not_given_has_its_default) {
  const SimSpec spec = parse_sim_spec("sim:").value();
  EXPECT_EQ(spec.world, "src");
  EXPECT_EQ(spec.depth, 4u);
  EXPECT_EQ(spec.page, kPageEntries);
  EXPECT_EQ(spec.latency, 0ms);
  EXPECT_EQ(spec.errors, 0);
  EXPECT_EQ(spec.extra, 0);
  EXPECT_EQ(parse_sim_spec("sim:presence=0.75").value().extra, 0.25);
}

TEST(SimSpec, a_latency_has_a_unit) {
  EXPECT_EQ(parse_sim_spec("sim:latency=50us").value().latency, 50us);
  EXPECT_EQ(parse_sim_spec("sim:latency=1.5s").value().latency, 1500ms);
  EXPECT_EQ(parse_sim_spec("sim:latency=0").value().latency, 0ms);
  EXPECT_FALSE(parse_sim_spec("sim:latency=5"));
}

TEST(SimSpec, what_is_not_understood_is_refused) {
  for (const char* text : {"",
                           "sim",
                           "sin:seed=1",
                           "sim:seed",
                           "sim:seed=",
                           "sim:seed=-1",
                           "sim:seed=1x",
                           "sim:seed=1,seed=2",
                           "sim:,",
                           "sim:depth=10001",
                           "sim:folders=5-4",
                           "sim:folders=1-2-3",
                           "sim:folders=-3",
                           "sim:files=100000001",
                           "sim:presence=1.1",
                           "sim:presence=-0.1",
                           "sim:presence=nan",
                           "sim:world=",
                           "sim:world=A",
                           "sim:world=a/b",
                           "sim:page=0",
                           "sim:page=8193",
                           "sim:heal=1001",
                           "sim:latency=-1s",
                           "sim:latency=2h",
                           "sim:latency=ms",
                           "sim:latency=1e300s",
                           "sim:colour=red"}) {
    const auto parsed = parse_sim_spec(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), Code::invalid_argument) << text;
  }
}

TEST(SimSpec, the_same_nodes_have_the_same_name) {
  const auto name = [](const char* text) { return sim_tree_name(parse_sim_spec(text).value()); };
  EXPECT_EQ(name("sim:seed=7,files=3,folders=1-2"),
            "sim:seed=7,world=src,depth=4,folders=1-2,files=3-3");
  EXPECT_EQ(name("sim:latency=1s,errors=0.5,heal=1,mutate=1,page=7,seed=7"), name("sim:seed=7"));
  EXPECT_EQ(name("sim:presence=0.5,differ=0.1"), name("sim:"));
  EXPECT_NE(name("sim:world=dst,presence=0.5"), name("sim:world=dst,presence=0.6"));
  EXPECT_NE(name("sim:world=dst,differ=0.5"), name("sim:world=dst"));
  // A name is a spec of the same tree.
  const std::string whole = name("sim:world=dst,presence=0.1,extra=0.2,differ=0.3,depth=2");
  EXPECT_EQ(name(whole.c_str()), whole);
}

}  // namespace
}  // namespace sluice::migrate
