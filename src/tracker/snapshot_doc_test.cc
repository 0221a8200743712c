// SPDX-License-Identifier: MIT
// Holds docs/format/retracker.md to what the code does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>

#include "tests/support/documents.h"
#include "tests/support/temp_dir.h"
#include "tracker/snapshot.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

/// All bytes of the table under "## Example".
std::string documented() {
  std::istringstream doc(test::read_document("format/retracker.md"));
  std::string line;
  std::string digits;
  while (std::getline(doc, line) && line != "## Example") {
  }
  while (std::getline(doc, line)) {
    const std::size_t begin = line.find('`');
    if (!line.starts_with('|') || begin == line.npos) continue;
    digits += line.substr(begin + 1, line.find('`', begin + 1) - begin - 1) + " ";
  }
  return digits;
}

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    char three[4];
    std::snprintf(three, sizeof three, "%02x ", static_cast<unsigned char>(byte));
    text += three;
  }
  return text;
}

TEST(SnapshotDoc, the_example_is_what_is_written) {
  SeededRandom random(1);
  ManualClock clock(WallTime(std::chrono::seconds(1'700'000'000) - 60s));
  Swarms swarms({}, random);
  PeerList list;
  Announce seeder{.endpoint = {.address = {192, 0, 2, 1}, .port = 6881}, .event = Event::completed};
  seeder.hash.bytes[0] = 0xab;
  std::ranges::fill(seeder.peer.bytes, std::uint8_t{0x41});
  swarms.announce(seeder, clock.mono(), {}, list);
  clock.advance(60s);
  Announce leecher{.hash = seeder.hash,
                   .endpoint = {.address = {0x20, 0x01, 0x0d, 0xb8}, .port = 51413, .is_v6 = true},
                   .left = 1};
  leecher.endpoint.address[15] = 1;
  std::ranges::fill(leecher.peer.bytes, std::uint8_t{0x42});
  swarms.announce(leecher, clock.mono(), {}, list);
  const test::TempDir dir;
  ASSERT_TRUE(write_snapshot(swarms, dir / "snapshot", clock));
  EXPECT_EQ(hex(test::read_file(dir / "snapshot")), documented());
}

}  // namespace
}  // namespace sluice::tracker
