// SPDX-License-Identifier: MIT
#include "net/http_answer.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using State = HttpAnswer::State;

/// Of these bytes, given at once or one by one: the outcome must be the same.
HttpAnswer answer_of(std::string_view text, bool ends = false, std::string_view method = "GET",
                     AnswerLimits limits = {}) {
  HttpAnswer whole(method, limits);
  HttpAnswer bytewise(method, limits);
  whole.take(text);
  for (const char& byte : text) bytewise.take({&byte, 1});
  if (ends) {
    whole.end();
    bytewise.end();
  }
  EXPECT_EQ(whole.state(), bytewise.state()) << text.substr(0, 200);
  if (whole.state() == State::done) {
    EXPECT_EQ(whole.response().body, bytewise.response().body);
  }
  EXPECT_EQ(whole.keeps_connection(), bytewise.keeps_connection());
  return whole;
}

TEST(HttpAnswer, with_a_length) {
  auto answer = answer_of("HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX-Y: z\r\n\r\nhello");
  ASSERT_EQ(answer.state(), State::done);
  EXPECT_EQ(answer.response().status, 201u);
  EXPECT_EQ(answer.response().body, "hello");
  ASSERT_NE(answer.response().find("x-y"), nullptr);
  EXPECT_EQ(*answer.response().find("x-y"), "z");
  EXPECT_EQ(answer.response().find("x-z"), nullptr);
  EXPECT_TRUE(answer.keeps_connection());
}

TEST(HttpAnswer, in_chunks) {
  auto answer = answer_of(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n "
      "world\r\n0\r\n\r\n");
  ASSERT_EQ(answer.state(), State::done);
  EXPECT_EQ(answer.response().body, "hello world");
  EXPECT_TRUE(answer.keeps_connection());
}

TEST(HttpAnswer, that_ends_with_the_connection) {
  const char* const text = "HTTP/1.1 200 OK\r\n\r\nall of it";
  EXPECT_EQ(answer_of(text).state(), State::more);
  auto answer = answer_of(text, true);
  ASSERT_EQ(answer.state(), State::done);
  EXPECT_EQ(answer.response().body, "all of it");
  EXPECT_FALSE(answer.keeps_connection());
  HttpAnswer cut("GET", {});
  cut.take(text);
  cut.end("Connection reset by peer");
  EXPECT_EQ(cut.state(), State::wrong);
}

TEST(HttpAnswer, without_a_body) {
  for (const char* text : {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}) {
    auto answer = answer_of(text);
    EXPECT_EQ(answer.state(), State::done) << text;
    EXPECT_TRUE(answer.keeps_connection()) << text;
  }
  auto answer = answer_of("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", false, "HEAD");
  EXPECT_EQ(answer.state(), State::done);
  EXPECT_TRUE(answer.keeps_connection());
}

TEST(HttpAnswer, says_whether_the_connection_goes_on) {
  const auto keeps = [](std::string_view text) { return answer_of(text).keeps_connection(); };
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"));
}

TEST(HttpAnswer, comes_after_a_few_interim_ones) {
  const std::string last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  std::string interim;
  for (unsigned i = 0; i < HttpAnswer::kInterimMax; ++i)
    interim += "HTTP/1.1 103 x\r\nA: b\r\n\r\n";
  auto answer = answer_of(interim + last);
  ASSERT_EQ(answer.state(), State::done);
  EXPECT_EQ(answer.response().body, "ok");
  EXPECT_EQ(answer.response().find("A"), nullptr);
  EXPECT_EQ(answer_of(interim + "HTTP/1.1 100 x\r\n\r\n" + last).state(), State::wrong);
}

TEST(HttpAnswer, that_is_malformed_is_refused) {
  for (const char* text :
       {"garbage\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n"}) {
    const auto answer = answer_of(text);
    EXPECT_EQ(answer.state(), State::wrong) << text;
    EXPECT_FALSE(answer.why().empty());
  }
}

TEST(HttpAnswer, that_is_cut_off_is_no_answer) {
  for (const char* text :
       {"", "H", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n"}) {
    const auto answer = answer_of(text, true);
    EXPECT_EQ(answer.state(), State::wrong) << text;
    EXPECT_EQ(answer.begun(), *text != '\0');
  }
}

TEST(HttpAnswer, limits_hold_at_their_edge) {
  const std::string begin = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ";
  const auto state_with = [&](std::size_t bytes) {
    const std::string head = begin + std::string(bytes - begin.size() - 4, 'x') + "\r\n\r\n";
    return answer_of(head, false, "GET", {.head_bytes_max = 100}).state();
  };
  EXPECT_EQ(state_with(100), State::done);
  EXPECT_EQ(state_with(101), State::wrong);

  const AnswerLimits ten{.body_bytes_max = 10};
  for (const char* head : {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "9\r\n012345678\r\n1\r\n9\r\n0\r\n\r\n",
                           "HTTP/1.1 200 OK\r\n\r\n0123456789"})
    EXPECT_EQ(answer_of(head, true, "GET", ten).state(), State::done) << head;
  for (const char* head : {"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "9\r\n012345678\r\n2\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "ffffffffffffffff\r\n",
                           "HTTP/1.1 200 OK\r\n\r\n0123456789a"})
    EXPECT_EQ(answer_of(head, false, "GET", ten).state(), State::wrong) << head;
}

}  // namespace
}  // namespace sluice::net
