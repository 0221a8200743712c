// SPDX-License-Identifier: MIT
#include "tracker/client_name.h"

#include <gtest/gtest.h>
#include <sluice/random.h>

#include <algorithm>
#include <string_view>

namespace sluice::tracker {
namespace {

std::string name_of(std::string_view start) {
  PeerId id;
  id.bytes.fill('x');
  std::ranges::copy(start, id.bytes.begin());
  return client_name(id);
}

TEST(ClientName, programs_and_versions) {
  EXPECT_EQ(name_of("-qB4520-"), "qBittorrent 4.5.2");
  EXPECT_EQ(name_of("-qB4671-"), "qBittorrent 4.6.7.1");
  EXPECT_EQ(name_of("-TR3000-"), "Transmission 3.00");
  EXPECT_EQ(name_of("-TR2940-"), "Transmission 2.94");
  EXPECT_EQ(name_of("-TR4040-"), "Transmission 4.0.4");
  EXPECT_EQ(name_of("-DE13F0-"), "Deluge 1.3.15");
  EXPECT_EQ(name_of("-DE211s-"), "Deluge 2.1.1");
  EXPECT_EQ(name_of("-lt0D80-"), "rTorrent 0.13.8");
  EXPECT_EQ(name_of("-LT2080-"), "libtorrent 2.0.8");
  EXPECT_EQ(name_of("-UT355W-"), "uTorrent 3.5.5");
  EXPECT_EQ(name_of("-BC0196-"), "BitComet 1.96");
  EXPECT_EQ(name_of("A2-1-36-0-"), "aria2 1.36.0");
  EXPECT_EQ(name_of("M7-10-3--"), "Mainline 7.10.3");
}

TEST(ClientName, a_program_that_is_not_in_the_table_is_called_by_its_letters) {
  EXPECT_EQ(name_of("-xx0001-"), "xx 0.0.0.1");
}

TEST(ClientName, everything_else_is_unknown) {
  for (const std::string_view start :
       {"", "-qB4520x", "xqB4520-",
        "-q\x01"
        "4520-",
        "-qB45 0-", "A2-1-36-0", "A2-1-x-0-", "A2-1---", "M7-2", "M1234-2-3-", "-q\"4520-"})
    EXPECT_EQ(name_of(start), "unknown") << start;
}

TEST(ClientName, whatever_the_id_the_name_is_short_and_printable) {
  SeededRandom random(7);
  for (int i = 0; i < 100'000; ++i) {
    PeerId id;
    for (auto& byte : id.bytes) byte = static_cast<std::uint8_t>(random.below(256));
    if (i % 2 == 0) id.bytes[0] = id.bytes[7] = '-';
    const std::string name = client_name(id);
    EXPECT_LE(name.size(), 40u);
    EXPECT_TRUE(std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; })) << name;
  }
}

}  // namespace
}  // namespace sluice::tracker
