// SPDX-License-Identifier: MIT
#include "net/address.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

bool judged_public(const char* text) {
  return is_public(numeric_address(text, 80).value());
}

TEST(Address, the_internet_at_large_is_public) {
  for (const char* text : {"1.1.1.1",       "9.255.255.255",   "11.0.0.0",        "100.63.255.255",
                           "100.128.0.0",   "126.255.255.255", "128.0.0.0",       "169.253.255.255",
                           "169.255.0.0",   "172.15.255.255",  "172.32.0.0",      "192.167.255.255",
                           "192.169.0.0",   "198.17.255.255",  "198.20.0.0",      "223.255.255.255",
                           "2600::1",       "2001:200::1",     "2606:4700::1111", "2003::1",
                           "::ffff:8.8.8.8"})
    EXPECT_TRUE(judged_public(text)) << text;
}

TEST(Address, what_is_private_or_special_is_not_public) {
  for (const char* text : {"0.0.0.0",
                           "0.255.255.255",
                           "10.0.0.0",
                           "10.255.255.255",
                           "100.64.0.0",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "169.254.169.254",
                           "172.16.0.0",
                           "172.31.255.255",
                           "192.0.0.8",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.0.0",
                           "192.168.255.255",
                           "198.18.0.0",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:10.0.0.1",
                           "::ffff:127.0.0.1",
                           "::127.0.0.1",
                           "64:ff9b::7f00:1",
                           "100::1",
                           "2001::1",
                           "2001:1ff::1",
                           "2001:db8::1",
                           "2002:7f00:1::1",
                           "3fff::1",
                           "fc00::1",
                           "fd12:3456::1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1"})
    EXPECT_FALSE(judged_public(text)) << text;
  EXPECT_FALSE(is_public(unix_address("/run/a.sock").value()));
}

TEST(Address, is_shown_as_people_write_it) {
  const auto shown = [](const char* text) {
    return peer_name(numeric_address(text, 80).value().storage);
  };
  EXPECT_EQ(shown("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(shown("2001:DB8:0::1"), "2001:db8::1");
  EXPECT_EQ(shown("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(peer_name(unix_address("/a").value().storage), "unix");
}

TEST(Address, that_is_none_is_refused) {
  for (const char* text : {"", "a.example", "127.1", "1.2.3.4.5", "[::1]", "::1%lo", "1.2.3.256"})
    EXPECT_FALSE(numeric_address(text, 80)) << text;
  EXPECT_TRUE(unix_address(std::string(107, 'a')));
  EXPECT_FALSE(unix_address(std::string(108, 'a')));
  EXPECT_FALSE(unix_address(""));
  EXPECT_FALSE(unix_address(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace sluice::net
