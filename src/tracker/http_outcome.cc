// SPDX-License-Identifier: MIT
#include "tracker/http_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "net/http_head.h"
#include "net/http_url.h"
#include "tracker/upstream_answer.h"
#include "tracker/upstream_failure.h"

namespace sluice::tracker {
namespace {

UpstreamResult refusal_of(const UpstreamAnswer& answer) {
  UpstreamResult result = refused(spoken(*answer.failure, "refused without a reason"));
  result.retry_in = answer.retry;
  return result;
}

bool is_encoded(const net::ClientResponse& answer) {
  const std::string* const encoding = answer.find("Content-Encoding");
  return encoding != nullptr && !encoding->empty() &&
         !net::equal_ignoring_case(*encoding, "identity");
}

UpstreamResult read_ok(const net::ClientResponse& response) {
  if (is_encoded(response)) return unreachable("the answer is compressed, and nobody asked for it");
  auto answer = read_upstream_answer(response.body);
  if (!answer)
    return unreachable("the answer is not that of a tracker: " + answer.error().message());
  if (answer->failure) return refusal_of(*answer);
  return {.outcome = UpstreamOutcome::ok,
          .interval = answer->interval,
          .min_interval = answer->min_interval,
          .peers = std::move(answer->peers),
          .tracker_id = std::move(answer->tracker_id)};
}

UpstreamResult read_refusal(const net::ClientResponse& response) {
  const auto answer = read_upstream_answer(response.body);
  if (answer && answer->failure) return refusal_of(*answer);
  return refused(fmt::format("refused with status {}", response.status));
}

/// A date is as good as nothing: the clocks of two machines seldom agree.
std::optional<Duration> retry_after(const net::ClientResponse& response) {
  const std::string* const text = response.find("Retry-After");
  if (text == nullptr) return std::nullopt;
  std::uint32_t seconds = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, seconds);
  if (stop != end || problem == std::errc::invalid_argument) return std::nullopt;
  if (problem == std::errc::result_out_of_range) return kUpstreamIntervalMax;
  if (seconds == 0) return std::nullopt;
  return std::min<Duration>(std::chrono::seconds(seconds), kUpstreamIntervalMax);
}

}  // namespace

UpstreamResult outcome_of(const net::ClientResponse& answer) {
  switch (answer.status) {
    case 200:
      return read_ok(answer);
    case 400:
    case 403:
    case 404:
      return read_refusal(answer);
    case 429:
    case 503:
      return {.outcome = UpstreamOutcome::busy,
              .reason = fmt::format("busy: status {}", answer.status),
              .retry_after = retry_after(answer)};
    default:
      return unreachable(fmt::format("answered with status {}", answer.status));
  }
}

bool is_redirect(unsigned status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Result<std::string> redirect_of(const net::ClientResponse& answer, std::string_view url) {
  const std::string* const location = answer.find("Location");
  if (location == nullptr || location->empty())
    return error(Code::invalid_argument, "the redirect leads nowhere");
  SLUICE_LET(from, net::parse_http_url(url));
  std::string to = *location;
  if (to.starts_with("//"))
    to.insert(0, from.scheme == net::HttpUrl::Scheme::https ? "https:" : "http:");
  else if (to.starts_with('/'))
    to.insert(0, from.origin());
  const auto parsed = net::parse_http_url(to);
  if (!parsed || parsed->scheme == net::HttpUrl::Scheme::unix_socket)
    return error(Code::invalid_argument, "the redirect leads to no http or https address");
  return to;
}

}  // namespace sluice::tracker
