// SPDX-License-Identifier: MIT
#include "net/chunked.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using State = ChunkedBody::State;

struct Read {
  State state = State::more;
  std::string body = {};
  std::string rest = {};
};

/// Gives it the bytes in pieces of `step`.
Read read(std::string_view bytes, std::size_t step, std::size_t bytes_max = 100) {
  ChunkedBody chunks(bytes_max);
  Read result;
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size() && chunks.state() == State::more; at += step) {
    buffer += bytes.substr(at, step);
    buffer.erase(0, chunks.take(buffer, result.body));
  }
  result.state = chunks.state();
  result.rest = buffer;
  return result;
}

TEST(ChunkedBody, is_the_same_however_it_comes) {
  constexpr std::string_view kText =
      "5\r\nhello\r\n1;name=\"value\"\r\n \r\n00A ; x\r\n0123456789\r\n0\r\n\r\n";
  for (std::size_t step = 1; step <= kText.size(); ++step) {
    const Read got = read(kText, step);
    EXPECT_EQ(got.state, State::done) << step;
    EXPECT_EQ(got.body, "hello 0123456789") << step;
  }
}

TEST(ChunkedBody, what_follows_is_left) {
  EXPECT_EQ(read("0\r\n\r\nGET /", 100).rest, "GET /");
}

TEST(ChunkedBody, what_is_malformed_is_wrong) {
  for (const char* bad : {"\r\n", "g\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 2\r\n",
                          "1\n", "1\rx\n", "1\r\nab\r\n", "1\r\na\n", "1\r\na\rx",
                          "0\r\nTrailer: x\r\n\r\n", "0\r\n\n", "1;a\x01\r\na\r\n", "1\r\nax"})
    for (const std::size_t step : {1, 100}) EXPECT_EQ(read(bad, step).state, State::wrong) << bad;
  EXPECT_EQ(read("1;" + std::string(300, 'x'), 1).state, State::wrong);
}

TEST(ChunkedBody, the_limit_is_of_the_whole_body) {
  EXPECT_EQ(read("4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n", 1, 6).state, State::done);
  EXPECT_EQ(read("4\r\nabcd\r\n3\r\n", 1, 6).state, State::too_big);
  EXPECT_EQ(read("ffffffffffffffff\r\n", 1).state, State::too_big);
  EXPECT_EQ(read("10000000000000000\r\n", 1).state, State::too_big);
}

}  // namespace
}  // namespace sluice::net
