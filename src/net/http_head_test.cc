// SPDX-License-Identifier: MIT
#include "net/http_head.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::net {
namespace {

constexpr std::string_view kHost = "Host: a\r\n";

std::string get(std::string_view fields) {
  return "GET / HTTP/1.1\r\n" + std::string(fields) + "\r\n";
}

unsigned status_of(const std::string& head) {
  const auto parsed = parse_request_head(head);
  return parsed ? 200 : parsed.error().status;
}

TEST(HttpHead, is_taken_apart) {
  const std::string text =
      "POST /a%20b?c=d HTTP/1.1\r\nHost: h:1\r\nX-Two:  words here \t\r\ncontent-length: "
      "12\r\n\r\n";
  const auto head = parse_request_head(text);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->target, "/a%20b?c=d");
  ASSERT_NE(head->find("x-two"), nullptr);
  EXPECT_EQ(*head->find("X-TWO"), "words here");
  EXPECT_EQ(head->find("x"), nullptr);
  EXPECT_EQ(head->body_bytes, 12u);
  EXPECT_TRUE(head->keep_alive);
  EXPECT_FALSE(head->chunked);
}

TEST(HttpHead, is_found_however_it_comes) {
  const std::string text = get(kHost) + "more";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::size_t whole = text.size() - 4;
    EXPECT_EQ(head_bytes(std::string_view(text).substr(0, cut)), cut >= whole ? whole : 0);
    if (cut < whole) {
      EXPECT_EQ(head_bytes(text, cut), whole) << cut;
    }
  }
}

TEST(HttpHead, connections_are_kept_or_closed) {
  const auto keeps = [](const std::string& text) { return parse_request_head(text)->keep_alive; };
  EXPECT_TRUE(keeps(get(kHost)));
  EXPECT_FALSE(keeps(get("Host: a\r\nConnection: close\r\n")));
  EXPECT_FALSE(keeps(get("Host: a\r\nconnection: foo , CLOSE\r\n")));
  EXPECT_FALSE(keeps(get("Host: a\r\nConnection: close\r\nConnection: keep-alive\r\n")));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpHead, what_two_parsers_could_read_differently_is_refused) {
  const std::string bad[] = {
      "GET / HTTP/1.1\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\n\r\n",
      "GET / HTTP/1.1\rHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
      "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
      " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n",
      "GET\r\n\r\n",
      "GET /\r\nHost: a\r\n\r\n",
      "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /#x HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n",
      "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
      get(""),
      get("Host: a\r\nHost: a\r\n"),
      get("Host : a\r\n"),
      get("Host: a\r\nX : b\r\n"),
      get("Host: a\r\n X: b\r\n"),
      get("Host: a\r\nX: b\r\n c\r\n"),
      get("Host: a\r\nno colon\r\n"),
      get("Host: a\r\n: empty\r\n"),
      get("Host: a\r\nX: a\x01z\r\n"),
      get(std::string("Host: a\r\nX: a\0z\r\n", 18)),
      get("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n"),
      get("Host: a\r\nContent-Length: 1, 1\r\n"),
      get("Host: a\r\nContent-Length: +1\r\n"),
      get("Host: a\r\nContent-Length: -1\r\n"),
      get("Host: a\r\nContent-Length: 0x1\r\n"),
      get("Host: a\r\nContent-Length: 1 1\r\n"),
      get("Host: a\r\nContent-Length:\r\n"),
      get("Host: a\r\nContent-Length: 99999999999999999999\r\n"),
      get("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
      get("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
      get("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"),
      get("Host: a\r\nTransfer-Encoding: chunked, chunked\r\n"),
      get("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      get("Host: a\r\nTransfer-Encoding: xchunked\r\n"),
      get("Host: a\r\nTransfer-Encoding:\r\n"),
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
  };
  for (const std::string& head : bad) EXPECT_EQ(status_of(head), 400u) << head;
}

TEST(HttpHead, other_refusals_have_their_own_status) {
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505u);
  EXPECT_EQ(status_of(get("Host: a\r\nExpect: more\r\n")), 417u);
  EXPECT_TRUE(parse_request_head(get("Host: a\r\nExpect: 100-Continue\r\n"))->expects_continue);
}

TEST(HttpHead, limits_hold_at_their_edge) {
  const std::string target(8 * 1024, '/');
  EXPECT_EQ(status_of("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"), 200u);
  EXPECT_EQ(status_of("GET " + target + "/ HTTP/1.1\r\nHost: a\r\n\r\n"), 414u);
  std::string fields(kHost);
  for (int i = 0; i < 99; ++i) fields += "X: y\r\n";
  EXPECT_EQ(status_of(get(fields)), 200u);
  EXPECT_EQ(status_of(get(fields + "X: y\r\n")), 431u);
}

TEST(HttpHead, of_an_answer) {
  const std::string text = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n";
  const auto head = parse_response_head(text);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 404u);
  EXPECT_EQ(head->body_bytes, 3u);
  EXPECT_EQ(parse_response_head("HTTP/1.1 200\r\n\r\n")->status, 200u);
  for (const char* bad :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n", "200 OK\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"})
    EXPECT_FALSE(parse_response_head(bad)) << bad;
}

}  // namespace
}  // namespace sluice::net
