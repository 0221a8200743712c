// SPDX-License-Identifier: MIT
#include "net/proxy.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

TEST(Proxy, is_read_as_people_write_it) {
  const auto plain = parse_proxy("socks5://Host.example:1080");
  ASSERT_TRUE(plain) << plain.error().message();
  EXPECT_EQ(plain->kind, Proxy::Kind::socks5);
  EXPECT_EQ(plain->host, "host.example");
  EXPECT_EQ(plain->port, 1080);
  EXPECT_EQ(plain->user, "");
  EXPECT_EQ(plain->place(), "socks5://host.example:1080");
  const auto login = parse_proxy("HTTP://me:p@ss:w@[2001:db8::1]:80/");
  ASSERT_TRUE(login) << login.error().message();
  EXPECT_EQ(login->kind, Proxy::Kind::http);
  EXPECT_EQ(login->host, "2001:db8::1");
  EXPECT_EQ(login->port, 80);
  EXPECT_EQ(login->user, "me");
  EXPECT_EQ(login->password, "p@ss:w");
  EXPECT_EQ(login->place(), "http://[2001:db8::1]:80");
}

TEST(Proxy, logins_have_limits) {
  const std::string long_one(kProxyLoginBytesMax, 'x');
  EXPECT_TRUE(parse_proxy("socks5://" + long_one + ":" + long_one + "@h:1"));
  EXPECT_FALSE(parse_proxy("socks5://" + long_one + "x:p@h:1"));
  EXPECT_FALSE(parse_proxy("socks5://u:" + long_one + "x@h:1"));
}

TEST(Proxy, whatever_else_is_refused_without_showing_the_password) {
  for (const char* const text :
       {"", "host:1080", "socks4://h:1", "https://h:1", "socks5://", "socks5://h", "http://h",
        "socks5://h:0", "socks5://h:65536", "socks5://h:1/path", "socks5://h:1?q", "socks5://h:1#f",
        "socks5://secret@h:1", "socks5://:secret@h:1", "socks5://u:@h:1", "socks5://u:secret@",
        "socks5://u:secret@h", "socks5://u:secret@h i:1", "socks5://u:secret\n@h:1"}) {
    const auto proxy = parse_proxy(text);
    ASSERT_FALSE(proxy) << text;
    EXPECT_EQ(proxy.error().code(), Code::invalid_argument);
    EXPECT_EQ(proxy.error().message().find("secret"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace sluice::net
