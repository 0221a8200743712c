// SPDX-License-Identifier: MIT
#include "retracker/login.h"

#include <gtest/gtest.h>

#include "codec/base64.h"

namespace sluice::cli {
namespace {

std::string basic(const std::string& pair) {
  return "Basic " + codec::to_base64(pair);
}

TEST(Login, without_a_password_everybody_is_let_in) {
  EXPECT_TRUE(Login("", "").admits(""));
  EXPECT_TRUE(Login("", "").admits("nonsense"));
}

TEST(Login, the_password_counts_and_the_user_if_there_is_one) {
  const Login any("", "s3cret:x");
  EXPECT_TRUE(any.admits(basic("me:s3cret:x")));
  EXPECT_TRUE(any.admits(basic(":s3cret:x")));
  const Login one("me", "s3cret");
  EXPECT_TRUE(one.admits(basic("me:s3cret")));
  EXPECT_FALSE(one.admits(basic("you:s3cret")));
  EXPECT_FALSE(one.admits(basic(":s3cret")));
}

TEST(Login, the_scheme_is_written_in_any_case) {
  EXPECT_TRUE(Login("", "p").admits("bASIC  " + codec::to_base64("u:p")));
}

TEST(Login, nothing_else_is_let_in) {
  const Login login("me", "s3cret");
  for (const std::string& text :
       {std::string(), std::string("Basic"), std::string("Basic "), std::string("Basic !!!"),
        "Bearer " + codec::to_base64("me:s3cret"), codec::to_base64("me:s3cret"), basic("me:s3cre"),
        basic("me:s3crets"), basic("me:s3creT"), basic("me:"), basic("me"),
        basic("me:s3crets3cret"), basic("meme:s3cret"), basic("me:s3cret") + " ", basic("")})
    EXPECT_FALSE(login.admits(text)) << text;
}

TEST(Login, browsers_are_told_to_ask) {
  const net::HttpResponse answer = Login::challenge();
  EXPECT_EQ(answer.status, 401u);
  ASSERT_EQ(answer.headers.size(), 1u);
  EXPECT_EQ(answer.headers[0].first, "WWW-Authenticate");
  EXPECT_TRUE(answer.headers[0].second.starts_with("Basic realm="));
}

}  // namespace
}  // namespace sluice::cli
