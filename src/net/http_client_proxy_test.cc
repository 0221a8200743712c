// SPDX-License-Identifier: MIT
// The client with proxies: what they are told, byte for byte, and those that do not behave.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_client.h"
#include "net/testing.h"

namespace sluice::net {
namespace {

using namespace std::string_literals;

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What the client says, and what the proxy answers to it.
using Script = std::vector<std::pair<std::string, std::string>>;

std::string receive(RawPeer& peer, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    const std::string more = peer.some();
    if (more.empty()) break;
    text += more;
  }
  return text;
}

/// Plays both the proxy and what is behind it.
struct Played {
  Result<ClientResponse> answer;
  std::vector<std::string> heard;
};

Played play(const Script& script, const std::string& scheme, const std::string& login,
            const std::string& url) {
  std::vector<std::string> heard;
  Result<ClientResponse> answer = error(Code::unavailable, "not asked");
  {
    RawServer server([&](RawPeer& peer, unsigned) {
      for (const auto& [asked, reply] : script) {
        heard.push_back(receive(peer, asked.size()));
        peer.send(reply);
      }
      if (!peer.request().empty()) peer.send(kOk);
    });
    answer = open_client()->call(
        {.url = url, .proxy = scheme + login + "127.0.0.1:" + std::to_string(server.port())});
  }
  return {std::move(answer), std::move(heard)};
}

void expect_ok(const Script& script, const std::string& scheme, const std::string& login,
               const std::string& url) {
  const Played played = play(script, scheme, login, url);
  ASSERT_TRUE(played.answer) << played.answer.error().message();
  EXPECT_EQ(played.answer->body, "ok");
  ASSERT_EQ(played.heard.size(), script.size());
  for (std::size_t i = 0; i < script.size(); ++i) EXPECT_EQ(played.heard[i], script[i].first);
}

const std::string kFine = "\5\0\0\1\0\0\0\0\0\0"s;

TEST(HttpClientProxy, socks5_is_told_names_and_addresses) {
  expect_ok({{"\5\1\0"s, "\5\0"s}, {"\5\1\0\3\x0ctracker.test\x1f\x90"s, kFine}}, "socks5://", "",
            "http://tracker.test:8080/");
  expect_ok({{"\5\1\0"s, "\5\0"s}, {"\5\1\0\1\xc0\0\2\7\0P"s, "\5\0\0\3\2ab\0\0"s}}, "socks5://",
            "", "http://192.0.2.7/");
  expect_ok(
      {{"\5\1\0"s, "\5\0"s},
       {"\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\7\0P"s, "\5\0\0\4"s + std::string(18, '\0')}},
      "socks5://", "", "http://[2001:db8::7]/");
}

TEST(HttpClientProxy, socks5_with_a_login) {
  expect_ok(
      {{"\5\2\0\2"s, "\5\2"s}, {"\1\2me\6s3cret"s, "\1\0"s}, {"\5\1\0\1\xc0\0\2\7\0P"s, kFine}},
      "socks5://", "me:s3cret@", "http://192.0.2.7/");
  expect_ok({{"\5\2\0\2"s, "\5\0"s}, {"\5\1\0\1\xc0\0\2\7\0P"s, kFine}}, "socks5://", "me:s3cret@",
            "http://192.0.2.7/");
}

TEST(HttpClientProxy, http_connect) {
  const std::string start = "CONNECT tracker.test:8080 HTTP/1.1\r\nHost: tracker.test:8080\r\n";
  const std::string fine = "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n";
  expect_ok({{start + "\r\n", fine}}, "http://", "", "http://tracker.test:8080/");
  expect_ok({{start + "Proxy-Authorization: Basic bWU6czNjcmV0\r\n\r\n", fine}}, "http://",
            "me:s3cret@", "http://tracker.test:8080/");
}

TEST(HttpClientProxy, one_that_refuses_or_talks_nonsense_is_a_failure_before_anything_was_sent) {
  const std::string hello = "\5\1\0"s;
  const std::string request = "\5\1\0\1\xc0\0\2\7\0P"s;
  const std::string connect = "CONNECT 192.0.2.7:80 HTTP/1.1\r\nHost: 192.0.2.7:80\r\n\r\n";
  const struct {
    std::string scheme;
    Script script;
    std::string said;
  } cases[] = {
      {"socks5://", {{hello, "\5\xff"s}}, "wants a user"},
      {"socks5://", {{hello, "\5\2"s}}, "wants a user"},
      {"socks5://", {{hello, "HTTP"}}, "does not speak SOCKS5"},
      {"socks5://", {{hello, "\5\0"s}, {request, "\5\5\0\1\0\0\0\0\0\0"s}}, "was refused"},
      {"socks5://", {{hello, "\5\0"s}, {request, "\5\xfe\0\1\0\0\0\0\0\0"s}}, "nobody knows"},
      {"socks5://", {{hello, "\5\0"s}, {request, "\5\0\0\7\0\0\0\0\0\0"s}}, "does not speak"},
      {"http://", {{connect, "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"}}, "the password"},
      {"http://", {{connect, "HTTP/1.1 503 No\r\n\r\n"}}, "answered 503"},
      {"http://", {{connect, "garbage\r\n\r\n"}}, "does not speak HTTP"},
      {"http://", {{connect, std::string(20'000, 'x')}}, "does not speak HTTP"},
  };
  for (const auto& one : cases) {
    const Played played = play(one.script, one.scheme, "", "http://192.0.2.7/");
    ASSERT_FALSE(played.answer) << one.said;
    EXPECT_EQ(played.answer.error().code(), Code::unavailable);
    const std::string& message = played.answer.error().message();
    EXPECT_NE(message.find(one.said), std::string::npos) << message;
    EXPECT_NE(message.find(" through " + one.scheme), std::string::npos) << message;
  }
}

TEST(HttpClientProxy, one_that_ends_the_connection_at_any_byte_is_a_failure) {
  const std::string whole = "\5\0"s + kFine;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    RawServer server([&](RawPeer& peer, unsigned) {
      receive(peer, 3);
      peer.send(whole.substr(0, std::min<std::size_t>(cut, 2)));
      if (cut < 2) return;
      receive(peer, 10);
      peer.send(whole.substr(2, cut - 2));
    });
    const auto answer =
        open_client()->call({.url = "http://192.0.2.7/",
                             .proxy = "socks5://127.0.0.1:" + std::to_string(server.port())});
    ASSERT_FALSE(answer) << cut;
    EXPECT_EQ(answer.error().code(), Code::unavailable) << cut;
  }
}

TEST(HttpClientProxy, nothing_goes_past_it) {
  const auto server = open_server();
  const auto client = open_client();
  const auto refused = client->call({.url = url_of(*server), .proxy = "socks5://127.0.0.1:1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_EQ(server->stats().accepted, 0u);
  EXPECT_EQ(client->call({.url = url_of(*server), .proxy = "nonsense"}).error().code(),
            Code::invalid_argument);
  EXPECT_EQ(client->call({.url = "unix:/x", .proxy = "socks5://127.0.0.1:1"}).error().code(),
            Code::invalid_argument);
  const auto strict = open_client({.public_addresses_only = true});
  EXPECT_EQ(
      strict->call({.url = "http://192.0.2.7/", .proxy = "socks5://127.0.0.1:1"}).error().code(),
      Code::permission_denied);
}

}  // namespace
}  // namespace sluice::net
