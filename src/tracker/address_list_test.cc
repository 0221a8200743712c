// SPDX-License-Identifier: MIT
#include "tracker/address_list.h"

#include <gtest/gtest.h>

namespace sluice::tracker {
namespace {

/// One address; the test fails if it is none.
Endpoint at(std::string_view text) {
  const auto network = parse_network(text);
  EXPECT_TRUE(network) << text;
  return network ? network->first : Endpoint();
}

bool contains(std::string_view network, std::string_view address) {
  const auto parsed = parse_network(network);
  EXPECT_TRUE(parsed) << network;
  return parsed && parsed->contains(at(address));
}

TEST(AddressList, a_network_contains_what_begins_with_its_bits) {
  struct Row {
    const char* network;
    const char* first;
    const char* last;
    const char* before;
    const char* after;
  };
  constexpr Row kRows[] = {
      {"10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
      {"172.16.0.0/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
      {"192.0.2.64/31", "192.0.2.64", "192.0.2.65", "192.0.2.63", "192.0.2.66"},
      {"192.0.2.64/32", "192.0.2.64", "192.0.2.64", "192.0.2.63", "192.0.2.65"},
      {"192.0.2.64", "192.0.2.64", "192.0.2.64", "192.0.2.63", "192.0.2.65"},
      {"128.0.0.0/1", "128.0.0.0", "255.255.255.255", "127.255.255.255", "0.0.0.0"},
      {"fc00::/7", "fc00::", "fdff:ffff::ffff", "fbff::", "fe00::"},
      {"2001:db8::/33", "2001:db8::", "2001:db8:7fff::1", "2001:db7:ffff::", "2001:db8:8000::"},
      {"::1", "::1", "::1", "::", "::2"},
      {"2001:db8::2/127", "2001:db8::2", "2001:db8::3", "2001:db8::1", "2001:db8::4"},
      {"::ffff:192.0.2.0/120", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
  };
  for (const Row& row : kRows) {
    EXPECT_TRUE(contains(row.network, row.first)) << row.network;
    EXPECT_TRUE(contains(row.network, row.last)) << row.network;
    EXPECT_FALSE(contains(row.network, row.before)) << row.network;
    EXPECT_FALSE(contains(row.network, row.after)) << row.network;
  }
}

TEST(AddressList, no_bits_are_all_addresses_of_one_family) {
  EXPECT_TRUE(contains("0.0.0.0/0", "255.1.2.3"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::1"));
  EXPECT_TRUE(contains("::/0", "2001:db8::1"));
  EXPECT_FALSE(contains("::/0", "10.0.0.1"));
}

TEST(AddressList, what_is_no_network_is_refused) {
  for (const char* wrong :
       {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08",
        "10.0.0.0/8 ", " 10.0.0.0/8", "10.0.0/8", "10.0.0.0/8/8", "10.0.0.1/8", "192.0.2.65/31",
        "::/129", "2001:db8::1/64", "fe80::1%eth0", "localhost", "10.0.0.0/4294967304"})
    EXPECT_EQ(status_of(parse_network(wrong)).code(), Code::invalid_argument) << wrong;
  EXPECT_EQ(status_of(parse_network(std::string_view("10.0.0.1\0", 9))).code(),
            Code::invalid_argument);
}

TEST(AddressList, a_list_contains_what_one_of_its_networks_does) {
  const auto list = AddressList::parse({"10.0.0.0/8", "2001:db8::/32"});
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), 2u);
  EXPECT_TRUE(list->contains(at("10.1.2.3")));
  EXPECT_TRUE(list->contains(at("2001:db8::7")));
  EXPECT_FALSE(list->contains(at("11.1.2.3")));
  Endpoint with_port = at("10.1.2.3");
  with_port.port = 80;
  EXPECT_TRUE(list->contains(with_port));
  EXPECT_TRUE(AddressList().empty());
  EXPECT_FALSE(AddressList().contains(at("10.1.2.3")));
}

TEST(AddressList, the_first_that_is_wrong_is_named) {
  const auto list = AddressList::parse({"10.0.0.0/8", "10.0.0.0/99", "x"});
  EXPECT_EQ(list.error().code(), Code::invalid_argument);
  EXPECT_NE(list.error().message().find("'10.0.0.0/99'"), std::string::npos);
}

TEST(AddressList, what_is_near_is_not_on_the_internet) {
  const AddressList local = AddressList::local();
  EXPECT_EQ(local.size(), 9u);
  for (const char* near : {"127.0.0.1", "10.9.8.7", "172.20.0.1", "192.168.1.1", "169.254.0.1",
                           "100.64.0.1", "::1", "fe80::1", "fd00::1"})
    EXPECT_TRUE(local.contains(at(near))) << near;
  for (const char* far :
       {"8.8.8.8", "172.32.0.1", "192.169.0.1", "100.128.0.1", "2001:db8::1", "::2", "fec0::1"})
    EXPECT_FALSE(local.contains(at(far))) << far;
}

}  // namespace
}  // namespace sluice::tracker
