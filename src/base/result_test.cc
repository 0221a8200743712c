// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sluice/result.h>

#include <set>
#include <string>

namespace sluice {
namespace {

TEST(Result, every_code_has_its_row) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kCodeCount; ++i) {
    const CodeInfo& info = code_info(static_cast<Code>(i));
    EXPECT_EQ(static_cast<std::size_t>(info.code), i);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_GT(std::string(info.advice).size(), 10u) << info.name;
    EXPECT_EQ(info.http_status == 200, info.code == Code::ok) << info.name;
    EXPECT_EQ(info.exit_code == 0, info.code == Code::ok) << info.name;
  }
}

TEST(Result, context_is_put_in_front_and_the_code_kept) {
  const Status status = Status(Code::lease_lost, "token 3 is stale").with("ack", "job-7");
  EXPECT_EQ(status.to_string(), "lease_lost: ack job-7: token 3 is stale");
  EXPECT_TRUE(Status().with("ack").ok());
}

Result<int> halve(int number) {
  if (number % 2 != 0) return error(Code::invalid_argument, "odd");
  return number / 2;
}

Result<int> quarter(int number) {
  SLUICE_LET(half, halve(number));
  return halve(half);
}

Status check_quarter(int number) {
  SLUICE_TRY(quarter(number));
  return {};
}

TEST(Result, try_and_let_pass_failures_on) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().code(), Code::invalid_argument);
  EXPECT_TRUE(check_quarter(8).ok());
  EXPECT_EQ(check_quarter(2).code(), Code::invalid_argument);
}

TEST(ResultDeath, a_failure_cannot_have_the_code_ok) {
  EXPECT_DEATH(static_cast<void>(Status(Code::ok, "no")), "check failed");
}

}  // namespace
}  // namespace sluice
