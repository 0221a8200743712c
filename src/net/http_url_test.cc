// SPDX-License-Identifier: MIT
#include "net/http_url.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using Scheme = HttpUrl::Scheme;

TEST(HttpUrl, is_taken_apart) {
  struct Case {
    const char* url;
    Scheme scheme;
    const char* host;
    unsigned port;
    const char* target;
    const char* origin;
    const char* host_field;
  };
  const Case cases[] = {
      {"http://a.example", Scheme::http, "a.example", 80, "/", "http://a.example:80", "a.example"},
      {"HTTPS://A.Example/B?C=d", Scheme::https, "a.example", 443, "/B?C=d",
       "https://a.example:443", "a.example"},
      {"http://a:8080/?x=http://b:1/@", Scheme::http, "a", 8080, "/?x=http://b:1/@",
       "http://a:8080", "a:8080"},
      {"http://a?x", Scheme::http, "a", 80, "/?x", "http://a:80", "a"},
      {"http://a/b#c", Scheme::http, "a", 80, "/b", "http://a:80", "a"},
      {"http://a#c", Scheme::http, "a", 80, "/", "http://a:80", "a"},
      {"https://192.0.2.1:80/", Scheme::https, "192.0.2.1", 80, "/", "https://192.0.2.1:80",
       "192.0.2.1:80"},
      {"http://[2001:DB8::1]/x", Scheme::http, "2001:db8::1", 80, "/x", "http://[2001:db8::1]:80",
       "[2001:db8::1]"},
      {"http://[::1]:65535", Scheme::http, "::1", 65535, "/", "http://[::1]:65535", "[::1]:65535"},
      {"unix:/run/a.sock", Scheme::unix_socket, "/run/a.sock", 0, "/", "unix:/run/a.sock",
       "localhost"},
      {"unix:/run/a.sock:/v1/x?y=1:2", Scheme::unix_socket, "/run/a.sock", 0, "/v1/x?y=1:2",
       "unix:/run/a.sock", "localhost"},
  };
  for (const Case& wanted : cases) {
    const auto url = parse_http_url(wanted.url);
    ASSERT_TRUE(url) << wanted.url << ": " << url.error().message();
    EXPECT_EQ(url->scheme, wanted.scheme) << wanted.url;
    EXPECT_EQ(url->host, wanted.host) << wanted.url;
    EXPECT_EQ(url->port, wanted.port) << wanted.url;
    EXPECT_EQ(url->target, wanted.target) << wanted.url;
    EXPECT_EQ(url->origin(), wanted.origin) << wanted.url;
    EXPECT_EQ(url->host_field(), wanted.host_field) << wanted.url;
  }
}

TEST(HttpUrl, that_makes_no_sense_is_refused) {
  const std::string too_long_host = "http://" + std::string(254, 'a') + "/";
  const std::string too_long_socket = "unix:/" + std::string(107, 'a');
  for (const std::string& url : {std::string(""),
                                 std::string("a.example"),
                                 std::string("ftp://a/"),
                                 std::string("http:/a"),
                                 std::string("http://"),
                                 std::string("http:///x"),
                                 std::string("http://:1"),
                                 std::string("http://a:"),
                                 std::string("http://a:0/"),
                                 std::string("http://a:65536/"),
                                 std::string("http://a:1x/"),
                                 std::string("http://a:-1"),
                                 std::string("http://u@a/"),
                                 std::string("http://u:p@a/"),
                                 std::string("http://[::1"),
                                 std::string("http://[::1]x/"),
                                 std::string("http://[1.2.3.4]/"),
                                 std::string("http://[fe80::1%25eth0]/"),
                                 std::string("http://::1/"),
                                 std::string("http://a b/"),
                                 std::string("http://a/ b"),
                                 std::string("http://a/\r\nx"),
                                 std::string("http://a/\0", 10),
                                 std::string("http://\xc3\xa4.example/"),
                                 std::string("http://a%41/"),
                                 std::string("http://a\\b/"),
                                 std::string("unix:"),
                                 std::string("unix:/run/a:b.sock"),
                                 too_long_host,
                                 too_long_socket})
    EXPECT_EQ(status_of(parse_http_url(url)).code(), Code::invalid_argument) << url;
}

TEST(HttpUrl, may_be_as_long_as_the_limit_says) {
  const std::string begin = "http://a/";
  EXPECT_TRUE(parse_http_url(begin + std::string(kUrlBytesMax - begin.size(), 'x')));
  EXPECT_FALSE(parse_http_url(begin + std::string(kUrlBytesMax - begin.size() + 1, 'x')));
}

TEST(HttpUrl, that_is_refused_is_not_repeated_in_the_message) {
  EXPECT_EQ(parse_http_url("http://ann:secret@a/").error().message().find("secret"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::net
