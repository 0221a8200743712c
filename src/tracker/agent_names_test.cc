// SPDX-License-Identifier: MIT
#include "tracker/agent_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace sluice::tracker {
namespace {

PeerId id_of(std::string_view start, std::uint32_t number = 0) {
  PeerId id;
  std::ranges::copy(start, id.bytes.begin());
  for (std::size_t i = 0; i < 4; ++i)
    id.bytes[16 + i] = static_cast<std::uint8_t>(number >> (8 * i));
  return id;
}

TEST(AgentNames, the_first_product_and_its_version) {
  EXPECT_EQ(agent_name("Deluge/2.1.1 libtorrent/2.0.8"), "Deluge 2.1.1");
  EXPECT_EQ(agent_name("Transmission/3.00"), "Transmission 3.00");
  EXPECT_EQ(agent_name("rtorrent"), "rtorrent");
  EXPECT_EQ(agent_name(""), "");
  EXPECT_EQ(agent_name(" x"), "");
}

TEST(AgentNames, strangers_write_them) {
  EXPECT_EQ(agent_name("a\x1b[31m"), "");
  EXPECT_EQ(agent_name("caf\xc3\xa9"), "");
  EXPECT_EQ(agent_name(std::string(kAgentBytesMax, 'a')), std::string(kAgentBytesMax, 'a'));
  EXPECT_EQ(agent_name(std::string(kAgentBytesMax + 1, 'a')), std::string(kAgentBytesMax, 'a'));
}

TEST(AgentNames, an_id_that_tells_is_believed_first) {
  AgentNames names;
  names.note(id_of("-TR3000-"), "Other/1.0");
  EXPECT_EQ(names.name_of(id_of("-TR3000-")), "Transmission 3.00");
}

TEST(AgentNames, one_that_does_not_is_called_as_it_calls_itself) {
  AgentNames names;
  EXPECT_EQ(names.name_of(id_of("none")), "unknown");
  names.note(id_of("none"), "Some/1.0");
  EXPECT_EQ(names.name_of(id_of("none")), "Some 1.0");
  EXPECT_EQ(names.name_of(id_of("none", 1)), "unknown");
  names.note(id_of("none"), "Some/1.1");
  EXPECT_EQ(names.name_of(id_of("none")), "Some 1.1");
  names.note(id_of("none"), "");  // Says nothing new.
  EXPECT_EQ(names.name_of(id_of("none")), "Some 1.1");
}

TEST(AgentNames, no_more_than_so_many_are_remembered) {
  AgentNames names;
  for (std::uint32_t i = 0; i < kAgentsMax; ++i) names.note(id_of("none", i), "Some/1.0");
  EXPECT_EQ(names.name_of(id_of("none", 0)), "Some 1.0");
  names.note(id_of("none", 0), "Some/1.1");  // No new one.
  EXPECT_EQ(names.name_of(id_of("none", 1)), "Some 1.0");
  names.note(id_of("none", kAgentsMax), "Some/1.0");
  EXPECT_EQ(names.name_of(id_of("none", 0)), "unknown");
  EXPECT_EQ(names.name_of(id_of("none", kAgentsMax)), "Some 1.0");
}

}  // namespace
}  // namespace sluice::tracker
