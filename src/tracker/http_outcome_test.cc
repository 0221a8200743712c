// SPDX-License-Identifier: MIT
#include "tracker/http_outcome.h"

#include <gtest/gtest.h>

#include "tracker/upstream_answer.h"
#include "tracker/upstream_failure.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPeers = "d8:intervali900e12:min intervali60e5:peers6:\1\2\3\4\5\6e";

TEST(HttpOutcome, an_answer_with_peers_is_ok) {
  const auto result = outcome_of({.status = 200, .body = kPeers});
  EXPECT_EQ(result.outcome, UpstreamOutcome::ok);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(result.interval, 900s);
  EXPECT_EQ(result.min_interval, 60s);
  EXPECT_EQ(result.peers.v4, "\1\2\3\4\5\6");
  EXPECT_FALSE(outcome_of({.status = 200, .body = "de"}).interval);
}

TEST(HttpOutcome, a_failure_is_a_refusal_with_its_time) {
  const auto refusal = [](const std::string& rest) {
    return outcome_of({.status = 200, .body = "d14:failure reason3:\nno" + rest + "e"});
  };
  EXPECT_EQ(refusal("").outcome, UpstreamOutcome::refused);
  EXPECT_EQ(refusal("").reason, "no");
  EXPECT_EQ(refusal("").retry_in, std::nullopt);
  EXPECT_EQ(refusal("8:retry ini0e").retry_in, std::nullopt);
  EXPECT_EQ(refusal("8:retry ini9e").retry_in, RetryIn{.after = std::chrono::minutes(9)});
  EXPECT_EQ(refusal("8:retry in5:never").retry_in, RetryIn{.never = true});
  EXPECT_EQ(outcome_of({.status = 200, .body = "d14:failure reason0:e"}).reason,
            "refused without a reason");
}

TEST(HttpOutcome, some_statuses_are_about_the_torrent) {
  for (const unsigned status : {400u, 403u, 404u}) {
    const auto result = outcome_of({.status = status, .body = "<html>"});
    EXPECT_EQ(result.outcome, UpstreamOutcome::refused);
    EXPECT_EQ(result.reason, "refused with status " + std::to_string(status));
    const auto said =
        outcome_of({.status = status, .body = "d14:failure reason4:gone8:retry in5:nevere"});
    EXPECT_EQ(said.reason, "gone");
    EXPECT_EQ(said.retry_in, RetryIn{.never = true});
  }
}

TEST(HttpOutcome, a_busy_upstream_may_say_for_how_long) {
  for (const unsigned status : {429u, 503u}) {
    const auto busy = outcome_of({.status = status});
    EXPECT_EQ(busy.outcome, UpstreamOutcome::busy);
    EXPECT_FALSE(busy.reason.empty());
    EXPECT_FALSE(busy.retry_after);
  }
  const auto after = [](const std::string& text) {
    return outcome_of({.status = 429, .headers = {{"retry-after", text}}}).retry_after;
  };
  EXPECT_EQ(after("1"), 1s);
  EXPECT_EQ(after("86400"), 24h);
  EXPECT_EQ(after("86401"), 24h);
  EXPECT_EQ(after("99999999999999999999999"), 24h);
  for (const char* nothing : {"", "0", "-1", "+1", "1s", "1.5", "99999999999999999999999s",
                              "Fri, 31 Dec 1999 23:59:59 GMT"})
    EXPECT_FALSE(after(nothing)) << nothing;
}

TEST(HttpOutcome, everything_else_is_unreachable) {
  for (const unsigned status : {201u, 204u, 304u, 401u, 410u, 500u, 502u, 504u}) {
    const auto result = outcome_of({.status = status, .body = kPeers});
    EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable) << status;
    EXPECT_EQ(result.reason, "answered with status " + std::to_string(status));
  }
  for (const char* garbage : {"", "garbage", "le", "i1e", "d", "d8:intervali900e"})
    EXPECT_EQ(outcome_of({.status = 200, .body = garbage}).outcome, UpstreamOutcome::unreachable);
}

TEST(HttpOutcome, a_compressed_answer_is_unreachable) {
  const auto encoded = [](const std::string& how) {
    return outcome_of({.status = 200, .headers = {{"content-encoding", how}}, .body = kPeers});
  };
  EXPECT_EQ(encoded("gzip").outcome, UpstreamOutcome::unreachable);
  EXPECT_NE(encoded("gzip").reason.find("compressed"), std::string::npos);
  EXPECT_EQ(encoded("Identity").outcome, UpstreamOutcome::ok);
  EXPECT_EQ(encoded("").outcome, UpstreamOutcome::ok);
}

TEST(HttpOutcome, redirects_lead_to_urls_and_paths) {
  const auto to = [](const std::string& location) {
    return redirect_of({.status = 302, .headers = {{"Location", location}}},
                       "https://a.test/x/announce?y");
  };
  EXPECT_EQ(to("http://b.test:81/p?q"), "http://b.test:81/p?q");
  EXPECT_EQ(to("/p?q"), "https://a.test:443/p?q");
  EXPECT_EQ(to("//b.test/p"), "https://b.test/p");
  for (const char* wrong : {"", "p", "?q", "udp://b.test:1/", "unix:/run/a.sock", "ftp://b/",
                            "http://", "///", "http://user@b/", "/p q", "http://b/\r\nX: y"})
    EXPECT_FALSE(to(wrong)) << wrong;
  EXPECT_FALSE(redirect_of({.status = 302}, "http://a.test/"));
  for (const unsigned status : {301u, 302u, 303u, 307u, 308u}) EXPECT_TRUE(is_redirect(status));
  for (const unsigned status : {200u, 300u, 304u, 305u, 306u, 309u})
    EXPECT_FALSE(is_redirect(status));
}

TEST(UpstreamFailure, what_upstreams_say_is_fit_for_people) {
  EXPECT_EQ(spoken(" a\nb\x7f\x1b[31m ", "-"), "a b  [31m");
  EXPECT_EQ(spoken("\xd0\xbd\xd0\xb5\xd1\x82", "-"), "\xd0\xbd\xd0\xb5\xd1\x82");
  EXPECT_EQ(spoken(std::string_view("\0 \n", 3), "-"), "-");
  EXPECT_EQ(spoken("", "-"), "-");
  const std::string most(kUpstreamTextBytesMax, 'x');
  EXPECT_EQ(spoken(most, "-"), most);
  EXPECT_EQ(spoken(most + "x", "-"), most);
}

}  // namespace
}  // namespace sluice::tracker
