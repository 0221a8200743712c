// SPDX-License-Identifier: MIT
#include "tracker/endpoint_text.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::tracker {
namespace {

std::string text_of(const Endpoint& endpoint) {
  std::string text;
  append_address(text, endpoint);
  return text;
}

std::string again(std::string_view text) {
  const auto endpoint = endpoint_of(text, 1);
  return endpoint ? text_of(*endpoint) : "refused";
}

TEST(EndpointText, addresses_are_read_and_written) {
  EXPECT_EQ(again("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(again("2001:DB8:0::1"), "2001:db8::1");
  EXPECT_EQ(again("::"), "::");
  EXPECT_EQ(again("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"),
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
  EXPECT_TRUE(endpoint_of("::1", 1)->is_v6);
  EXPECT_FALSE(endpoint_of("127.0.0.1", 1)->is_v6);
  EXPECT_EQ(endpoint_of("127.0.0.1", 65535)->port, 65535);
}

TEST(EndpointText, a_mapped_address_is_ipv4) {
  EXPECT_EQ(endpoint_of("::ffff:192.0.2.1", 80), endpoint_of("192.0.2.1", 80));
  EXPECT_NE(endpoint_of("::fffe:192.0.2.1", 80), endpoint_of("192.0.2.1", 80));
}

TEST(EndpointText, what_is_no_address_is_refused) {
  const std::string bad[] = {"",
                             "localhost",
                             "192.0.2",
                             "192.0.2.256",
                             "192.0.2.1 ",
                             "[::1]",
                             "1.2.3.4:80",
                             ":",
                             "::1%lo",
                             std::string("1.2.3.4\0x", 9),
                             std::string(46, '1'),
                             "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555"};
  for (const std::string& text : bad) EXPECT_FALSE(endpoint_of(text, 1)) << text;
}

TEST(EndpointText, compact_entries_are_read_back) {
  PeerList peers;
  const Endpoint four = *endpoint_of("192.0.2.1", 0x1a2b);
  const Endpoint six = *endpoint_of("2001:db8::1", 0xfffe);
  append_compact(peers, four);
  append_compact(peers, six);
  EXPECT_EQ(peers.v4, std::string("\xc0\x00\x02\x01\x1a\x2b", 6));
  EXPECT_EQ(peers.v6, std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\xff\xfe", 18));
  const auto bytes = [](const std::string& text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  EXPECT_EQ(endpoint_of_compact(bytes(peers.v4)), four);
  EXPECT_EQ(endpoint_of_compact(bytes(peers.v6)), six);
}

TEST(EndpointText, a_mapped_entry_is_ipv4) {
  const std::uint8_t entry[kCompactBytes6] = {0, 0,    0,    0,   0, 0, 0, 0, 0,
                                              0, 0xff, 0xff, 192, 0, 2, 1, 0, 80};
  EXPECT_EQ(endpoint_of_compact(entry), *endpoint_of("192.0.2.1", 80));
}

}  // namespace
}  // namespace sluice::tracker
