// SPDX-License-Identifier: MIT
#include "client/transport.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/answers.h"
#include "net/http_url.h"

namespace sluice::client {
namespace {

// A claim of many large jobs (queue::kClaimBytesMax) as base64, and what is around them.
constexpr std::size_t kAnswerBytesMax = 32 * 1024 * 1024;

/// What a path of the service is put behind.
Result<std::string> base_of(const std::string& url) {
  SLUICE_LET(parsed, net::parse_http_url(url));
  if (url.find_first_of("?#") != std::string::npos)
    return error(Code::invalid_argument, "the URL of a service has neither '?' nor '#'");
  std::string path = parsed.target;
  while (path.ends_with('/')) path.pop_back();
  const bool local = parsed.scheme == net::HttpUrl::Scheme::unix_socket;
  return parsed.origin() + (local ? ":" : "") + path;
}

Status check(const ClientOptions& options) {
  SLUICE_TRY(validate(options.backoff));
  if (options.attempts_max == 0 || options.call_time <= Duration() ||
      options.connect_time <= Duration())
    return error(Code::invalid_argument,
                 "attempts_max, call_time and connect_time must be more than 0");
  // Not shown: it is a secret.
  if (!net::is_field_value(options.token))
    return error(Code::invalid_argument, "the token holds a control character, as a line end");
  return {};
}

}  // namespace

Result<std::unique_ptr<Transport>> Transport::open(ClientOptions options) {
  SLUICE_LET(base, base_of(options.url));
  SLUICE_TRY(check(options));
  SLUICE_LET(http, net::HttpClient::open({.connections_max = options.connections_max,
                                          .connections_per_host_max = options.connections_max,
                                          .connect_time = options.connect_time,
                                          .answer = {.body_bytes_max = kAnswerBytesMax},
                                          .ca_file = options.ca_file,
                                          .clock = options.clock}));
  return std::unique_ptr<Transport>(
      new Transport(std::move(options), std::move(base), std::move(http)));
}

Transport::Transport(ClientOptions options, std::string base, std::unique_ptr<net::HttpClient> http)
    : options_(std::move(options)),
      base_(std::move(base)),
      http_(std::move(http)),
      random_(options_.random != nullptr ? options_.random : &system_random_) {}

std::string Transport::fresh_operation() {
  const MutexLock lock(mutex_);
  const std::uint64_t first = random_->next();
  return fmt::format("{:016x}{:016x}", first, random_->next());
}

Duration Transport::pause_after(unsigned attempt) {
  const MutexLock lock(mutex_);
  return backoff_delay(options_.backoff, attempt, random_->unit());
}

net::ClientRequest Transport::request_for(const Ask& ask, Duration time) const {
  net::ClientRequest request{.method = ask.method,
                             .url = base_ + ask.path,
                             .body = ask.body(),
                             .time = time,
                             .repeatable = true,
                             .stop = ask.stop};
  if (!request.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  if (!options_.token.empty())
    request.headers.emplace_back("Authorization", "Bearer " + options_.token);
  if (!ask.operation.empty()) request.headers.emplace_back("Idempotency-Key", ask.operation);
  return request;
}

Result<std::string> Transport::call(const Ask& ask) {
  const MonoTime until = now() + std::min(options_.call_time, queue::kDelayMax) + ask.wait;
  bool may_have_happened = false;
  for (unsigned attempt = 1;; ++attempt) {
    auto answer = http_->call(request_for(ask, until - now()));
    if (answer && answer->status >= 200 && answer->status < 300) return std::move(answer->body);
    Status why = answer ? read_failure(answer->status, answer->body) : answer.error();
    may_have_happened = may_have_happened || why.code() == Code::commit_unknown;
    const bool again = why.code() == Code::unavailable || why.code() == Code::commit_unknown;
    const Duration pause = pause_after(attempt);
    if (again && attempt < options_.attempts_max && now() + pause < until) {
      options_.clock->sleep_for(pause, ask.stop);
      if (!ask.stop.stop_requested()) continue;
    }
    // What the service says of the last attempt is not true of the ones before.
    if (may_have_happened && (!answer || again)) why = Status(Code::commit_unknown, why.message());
    return tl::unexpected(std::move(why));
  }
}

}  // namespace sluice::client
