// SPDX-License-Identifier: MIT
// What upstreams call themselves is told to them again.
#include <gtest/gtest.h>

#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

using Kind = SimMode::Kind;

std::string last_id(const ForwardBench& bench) {
  return bench.transport.sent.back().tracker_id;
}

TEST(ForwardIds, an_upstream_is_told_its_own_id_of_the_same_torrent) {
  ForwardBench bench(plain_options(), 2);
  bench.transport.set("u0", {.tracker_id = "zero"});
  bench.announce(1, 1);
  for (const SimTransport::Sent& sent : bench.transport.sent) EXPECT_EQ(sent.tracker_id, "");
  const std::size_t first = bench.sent();
  bench.announce(1, 2);
  bench.announce(2, 1);
  ASSERT_EQ(bench.sent(), first + 4);
  for (std::size_t i = first; i < bench.sent(); ++i) {
    const SimTransport::Sent& sent = bench.transport.sent[i];
    const bool knows = sent.upstream == "u0" && sent.announce.hash == hash_of(1);
    EXPECT_EQ(sent.tracker_id, knows ? "zero" : "");
  }
}

TEST(ForwardIds, it_stays_until_there_is_another) {
  ForwardBench bench;
  bench.transport.set_all({.tracker_id = "a"});
  bench.announce(1, 1);
  bench.transport.set_all({});
  bench.announce(1, 1, Event::completed);
  EXPECT_EQ(last_id(bench), "a");
  bench.transport.set_all({.kind = Kind::failure, .tracker_id = "no"});
  bench.announce(1, 2);
  EXPECT_EQ(last_id(bench), "a") << "an answer without one changes nothing";
  bench.transport.set_all({.tracker_id = "b"});
  bench.run_for(1h);
  EXPECT_EQ(last_id(bench), "b");
  bench.announce(1, 1, Event::stopped);
  EXPECT_EQ(bench.transport.sent.back().announce.event, Event::stopped);
  EXPECT_EQ(last_id(bench), "b");
}

TEST(ForwardIds, it_goes_with_the_torrent) {
  ForwardBench bench;
  bench.transport.set_all({.tracker_id = "a"});
  bench.announce(1, 1);
  bench.announce(1, 1, Event::stopped);
  ASSERT_EQ(bench.insight().torrents, 0u);
  bench.announce(2, 1);
  EXPECT_EQ(last_id(bench), "") << "the torrent has the place of the one that went";
}

TEST(ForwardIds, it_goes_with_the_upstream_and_with_its_uri) {
  ForwardBench bench;
  bench.transport.set_all({.tracker_id = "a"});
  bench.announce(1, 1);
  ASSERT_TRUE(bench.forwarder.reload({{.name = "u0", .uri = "udp://u0"}}).ok());
  bench.announce(1, 2);
  EXPECT_EQ(last_id(bench), "a");
  ASSERT_TRUE(bench.forwarder.reload({{.name = "u0", .uri = "udp://elsewhere"}}).ok());
  bench.run();
  bench.announce(1, 3);
  EXPECT_EQ(last_id(bench), "");
  ASSERT_TRUE(bench.forwarder.reload({}).ok());
  bench.run();
  ASSERT_TRUE(bench.forwarder.reload({{.name = "other", .uri = "udp://u0"}}).ok());
  bench.announce(1, 4);
  EXPECT_EQ(last_id(bench), "");
}

}  // namespace
}  // namespace sluice::tracker
