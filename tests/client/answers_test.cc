// SPDX-License-Identifier: MIT
#include "client/answers.h"

#include <gtest/gtest.h>

namespace sluice::client {
namespace {

template <class T>
Code code_of(const Result<T>& result) {
  return status_of(result).code();
}

TEST(ClientAnswers, that_no_service_gives_are_not_believed) {
  for (const char* body : {"", "<html>", "{}", "[]", "{\"id\": 1}", "{\"leases\": {}}",
                           "{\"leases\": [{}]}", "{\"deadline_at\": \"x\"}", "{\"counts\": {}}",
                           "{\"deadline_at\": 9223372036854775807}", "{\"results\": [{}]}"}) {
    EXPECT_EQ(code_of(read_id(body)), Code::commit_unknown) << body;
    EXPECT_EQ(code_of(read_ids(body, 1)), Code::commit_unknown) << body;
    EXPECT_EQ(code_of(read_leases(body)), Code::commit_unknown) << body;
    EXPECT_EQ(code_of(read_deadline(body)), Code::commit_unknown) << body;
    EXPECT_EQ(code_of(read_job(body)), Code::commit_unknown) << body;
    EXPECT_EQ(code_of(read_counts(body)), Code::commit_unknown) << body;
  }
}

TEST(ClientAnswers, there_must_be_as_many_results_as_jobs) {
  const char* const body =
      R"({"results": [{"id": "a"}, {"error": {"code": "already_exists", "message": "m"}}]})";
  const auto ids = read_ids(body, 2);
  ASSERT_TRUE(ids);
  EXPECT_EQ((*ids)[0].value(), "a");
  EXPECT_EQ(code_of((*ids)[1]), Code::already_exists);
  EXPECT_EQ((*ids)[1].error().message(), "m");
  EXPECT_FALSE(read_ids(body, 1));
  EXPECT_FALSE(read_ids(body, 3));
}

TEST(ClientAnswers, a_lease_needs_all_that_a_worker_needs) {
  const std::string token(48, 'a');
  const std::string good =
      R"({"queue": "q", "id": "j", "token": ")" + token +
      R"(", "deadline_at": 1, "attempt": 1, "priority": -5, "payload": [ 1 ]})";
  const auto leases = read_leases("{\"leases\": [" + good + "]}");
  ASSERT_TRUE(leases);
  EXPECT_EQ((*leases)[0].payload, "[ 1 ]");
  EXPECT_EQ((*leases)[0].priority, -5);
  EXPECT_TRUE(read_leases("{\"leases\": [{\"group\": null, " + good.substr(1) + "]}"));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"queue\"", "\"x\""},
           {"\"id\"", "\"x\""},
           {"\"token\"", "\"x\""},
           {"\"deadline_at\"", "\"x\""},
           {"\"attempt\": 1", "\"attempt\": -1"},
           {"\"priority\": -5", "\"priority\": 5000000000"},
           {token, "abc"},
           {"\"payload\"", "\"group\": 5, \"payload\""},
           {"\"payload\": [ 1 ]", "\"payload_base64\": \"?\""}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_EQ(code_of(read_leases("{\"leases\": [" + bad + "]}")), Code::commit_unknown) << bad;
  }
}

TEST(ClientAnswers, failures_are_what_the_body_says_or_else_the_status) {
  const Status said = read_failure(
      409, R"({"error": {"code": "lease_lost", "message": "gone", "advice": "stop"}})");
  EXPECT_EQ(said.code(), Code::lease_lost);
  EXPECT_EQ(said.message(), "gone");
  for (const auto& [status, code] :
       std::vector<std::pair<unsigned, Code>>{{302, Code::invalid_argument},
                                              {400, Code::invalid_argument},
                                              {401, Code::permission_denied},
                                              {403, Code::permission_denied},
                                              {404, Code::not_found},
                                              {405, Code::invalid_argument},
                                              {413, Code::limit_exceeded},
                                              {429, Code::limit_exceeded},
                                              {500, Code::commit_unknown},
                                              {502, Code::commit_unknown},
                                              {503, Code::unavailable},
                                              {504, Code::commit_unknown},
                                              {507, Code::storage_full}})
    for (const char* body :
         {"", "<html>", "{}", R"({"error": "text"})", R"({"error": {"code": "ok", "message": ""}})",
          R"({"error": {"code": "new_code", "message": ""}})"})
      EXPECT_EQ(read_failure(status, body).code(), code) << status << " " << body;
}

}  // namespace
}  // namespace sluice::client
