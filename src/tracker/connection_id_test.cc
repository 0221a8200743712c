// SPDX-License-Identifier: MIT
#include "tracker/connection_id.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <set>

#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kStart{Duration(1234567h)};

Endpoint at(std::string_view address, std::uint16_t port = 1) {
  return *endpoint_of(address, port);
}

TEST(SipHash, gives_the_published_values) {
  // Of the key 00 01 .. 0f and the bytes 00 01 .., as many as the place in the list.
  const std::uint64_t published[] = {0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a,
                                     0x85676696d7fb7e2d, 0xcf2794e0277187b7, 0x18765564cd99a68d,
                                     0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462,
                                     0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
                                     0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee,
                                     0xa129ca6149be45e5, 0x3f2acc7f57c29bdb};
  const SipKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::array<std::uint8_t, 63> bytes = {};
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < std::size(published); ++i)
    EXPECT_EQ(siphash(key, std::span(bytes).first(i)), published[i]) << i;
  EXPECT_EQ(siphash(key, bytes), 0x958a324ceb064572u);
}

TEST(ConnectionIds, are_good_for_their_life_and_grace) {
  SeededRandom random(1);
  const Duration grace = 45s;
  const ConnectionIds ids(random, grace);
  const Duration life = kConnectionIdLife + grace;
  // Wherever in a slot it begins.
  for (int step = 0; step < 40; ++step) {
    const MonoTime begin = kStart + step * 997ms;
    const std::uint64_t id = ids.issue(at("192.0.2.1"), begin);
    EXPECT_TRUE(ids.is_good(id, at("192.0.2.1"), begin));
    EXPECT_TRUE(ids.is_good(id, at("192.0.2.1"), begin + life)) << step;
    EXPECT_FALSE(ids.is_good(id, at("192.0.2.1"), begin + life + life / 16 + 1us)) << step;
  }
}

TEST(ConnectionIds, never_come_back_to_life) {
  SeededRandom random(1);
  const ConnectionIds ids(random, 0s);
  const std::uint64_t id = ids.issue(at("192.0.2.1"), kStart);
  EXPECT_TRUE(ids.is_good(id, at("192.0.2.1"), kStart + 2min));
  for (Duration age = 2min + 8s; age < 3h; age += 1s)
    EXPECT_FALSE(ids.is_good(id, at("192.0.2.1"), kStart + age)) << age.count();
}

TEST(ConnectionIds, of_the_future_are_refused) {
  SeededRandom random(1);
  const ConnectionIds ids(random);
  const std::uint64_t id = ids.issue(at("192.0.2.1"), kStart);
  EXPECT_FALSE(ids.is_good(id, at("192.0.2.1"), kStart - 1min));
  EXPECT_FALSE(ids.is_good(id, at("192.0.2.1"), MonoTime()));
}

TEST(ConnectionIds, are_good_right_after_boot) {
  SeededRandom random(1);
  const ConnectionIds ids(random);
  const std::uint64_t id = ids.issue(at("192.0.2.1"), MonoTime());
  EXPECT_TRUE(ids.is_good(id, at("192.0.2.1"), MonoTime(5min)));
}

TEST(ConnectionIds, belong_to_an_address_and_not_to_a_port) {
  SeededRandom random(1);
  const ConnectionIds ids(random);
  const std::uint64_t id = ids.issue(at("192.0.2.1", 1), kStart);
  EXPECT_TRUE(ids.is_good(id, at("192.0.2.1", 2), kStart));
  EXPECT_FALSE(ids.is_good(id, at("192.0.2.2"), kStart));
  EXPECT_FALSE(ids.is_good(id, at("c000:201::"), kStart)) << "the same bytes, as IPv6";
  const std::uint64_t six = ids.issue(at("2001:db8::1"), kStart);
  EXPECT_TRUE(ids.is_good(six, at("2001:db8::1", 9), kStart));
  EXPECT_FALSE(ids.is_good(six, at("2001:db8::2"), kStart));
}

TEST(ConnectionIds, are_not_forged) {
  SeededRandom random(1);
  const ConnectionIds ids(random);
  const ConnectionIds others(random);
  const std::uint64_t id = ids.issue(at("192.0.2.1"), kStart);
  for (unsigned bit = 0; bit < 64; ++bit)
    EXPECT_FALSE(ids.is_good(id ^ (std::uint64_t{1} << bit), at("192.0.2.1"), kStart)) << bit;
  EXPECT_FALSE(others.is_good(id, at("192.0.2.1"), kStart));
  for (const std::uint64_t guess : {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()})
    EXPECT_FALSE(ids.is_good(guess, at("192.0.2.1"), kStart));
}

TEST(ConnectionIds, differ_between_addresses) {
  SeededRandom random(1);
  const ConnectionIds ids(random);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 256; ++i) seen.insert(ids.issue(at("192.0.2." + std::to_string(i)), kStart));
  EXPECT_EQ(seen.size(), 256u);
}

TEST(ConnectionIdsDeath, a_negative_grace_stops_the_process) {
  SeededRandom random(1);
  EXPECT_DEATH(ConnectionIds(random, -1s), "check failed");
}

}  // namespace
}  // namespace sluice::tracker
