// SPDX-License-Identifier: MIT
#include "server/routes.h"

#include <sluice/random.h>

#include <algorithm>
#include <chrono>

#include "codec/json.h"
#include "codec/percent.h"
#include "queue/names.h"
#include "server/answer.h"

namespace sluice::server {
namespace {

constexpr const char* kRequestId = "X-Request-Id";
constexpr std::size_t kRequestIdBytesMax = 128;

std::string random_hex() {
  std::uint64_t bits = SystemRandom().next();
  return queue::to_hex({reinterpret_cast<const char*>(&bits), sizeof bits});
}

std::vector<std::string_view> split(std::string_view text, char sign) {
  std::vector<std::string_view> parts;
  parts.reserve(8);
  for (;;) {
    const std::size_t end = std::min(text.find(sign), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Nothing if it is not percent-encoded UTF-8.
std::optional<std::string> decode(std::string_view text) {
  auto decoded = codec::percent_decode(text);
  if (!decoded) return {};
  for (std::string_view rest = *decoded; !rest.empty();) {
    const std::size_t size = codec::json::utf8_character_bytes(rest);
    if (size == 0) return {};
    rest.remove_prefix(size);
  }
  return decoded;
}

bool read_query(Call& call, std::string_view query) {
  if (query.empty()) return true;
  for (const std::string_view pair : split(query, '&')) {
    const std::size_t sign = std::min(pair.find('='), pair.size());
    const auto name = decode(pair.substr(0, sign));
    std::string value(pair.substr(std::min(sign + 1, pair.size())));
    std::ranges::replace(value, '+', ' ');  // As forms write a space.
    const auto text = decode(value);
    if (!name || !text) return false;
    call.query[*name] = *text;
  }
  return true;
}

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string_view>& segments) {
  return std::ranges::equal(pattern, segments, [](const std::string& wanted, std::string_view is) {
    return wanted.empty() ? !is.empty() : wanted == is;
  });
}

/// Whether it can be told again in a header and in a log.
bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kRequestIdBytesMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

/// Takes the time until the answer, and marks it.
class ObservedChannel final : public net::Exchange::Channel {
 public:
  struct Context {
    RouteStats& stats;
    const Clock& clock;
    const LogSink& log;
    std::string id;  ///< Of the request; empty: it has none.
  };
  ObservedChannel(std::shared_ptr<Channel> inner, Context context)
      : inner_(std::move(inner)), context_(std::move(context)), began_(context_.clock.mono()) {}

  const net::HttpRequest& request() const override { return inner_->request(); }
  bool is_gone() const override { return inner_->is_gone(); }
  void answer(std::shared_ptr<Channel> /*self*/, net::HttpResponse response) override {
    const Duration took = context_.clock.mono() - began_;
    context_.stats.time_ns.record(static_cast<std::uint64_t>(took.count()));
    ++context_.stats.answers[std::min(response.status / 100, 5U)];
    if (response.status >= 500 && context_.log) log(response, took);
    if (!context_.id.empty()) response.headers.emplace_back(kRequestId, std::move(context_.id));
    std::shared_ptr<Channel> inner = std::move(inner_);
    Channel& answering = *inner;
    answering.answer(std::move(inner), std::move(response));
  }

 private:
  void log(const net::HttpResponse& response, Duration took) const {
    const net::RequestHead& head = request().head;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    context_.log(LogLevel::warning, std::string(head.method) + " " + std::string(head.target) +
                                        " answered " + std::to_string(response.status) + " after " +
                                        std::to_string(ms) + " ms" +
                                        (context_.id.empty() ? "" : ", request " + context_.id) +
                                        ": " + response.body.substr(0, response.body.find('\n')));
  }

  std::shared_ptr<Channel> inner_;
  Context context_;
  const MonoTime began_;
};

Status not_allowed(May may) {
  return {Code::permission_denied, "the token is not good for this: it takes one that may " +
                                       may_text(static_cast<MaySet>(may))};
}

}  // namespace

Status Call::check(May may, std::string_view queue) const {
  if (!grant) return {};
  if (!grant->may(may)) return not_allowed(may);
  if (grant->covers(queue)) return {};
  return error(Code::not_found, "there is no queue '" + std::string(queue) + "' for this token");
}

Routes::Routes(const Access& access, LogSink log)
    : access_(access), log_(std::move(log)), id_begin_(random_hex()) {}

/// Only the native API has them.
std::string Routes::request_id(const net::HttpRequest& request) const {
  if (!request.head.target.starts_with("/v1/")) return {};
  const std::string_view* const given = request.head.find("x-request-id");
  if (given != nullptr && is_request_id(*given)) return std::string(*given);
  return id_begin_ + "-" + std::to_string(++id_next_);
}

void Routes::add(std::string_view method, std::string_view path, std::optional<Need> need,
                 CallHandler handler) {
  Route route{.segments = {},
              .need = need,
              .handler = std::move(handler),
              .stats = std::make_unique<RouteStats>()};
  route.stats->method = method;
  route.stats->path = path;
  for (const std::string_view part : split(path.substr(1), '/'))
    route.segments.emplace_back(part.starts_with(':') ? "" : part);
  routes_.push_back(std::move(route));
}

std::vector<const RouteStats*> Routes::stats() const {
  std::vector<const RouteStats*> all;
  for (const Route& route : routes_) all.push_back(route.stats.get());
  all.push_back(nowhere_.get());
  return all;
}

Routes::Match Routes::find(std::string_view method,
                           const std::vector<std::string_view>& segments) const {
  Match match;
  for (const Route& route : routes_) {
    if (!fits(route.segments, segments)) continue;
    const std::string& own = route.stats->method;
    if (own == method) return {.route = &route};
    match.allowed.append(match.allowed.empty() ? "" : ", ").append(own);
  }
  return match;
}

net::Exchange Routes::observed(net::Exchange exchange, RouteStats& stats) const {
  std::string id = request_id(exchange.request());
  return net::Exchange(std::make_shared<ObservedChannel>(
      exchange.release(), ObservedChannel::Context{stats, access_.clock(), log_, std::move(id)}));
}

/// Of two tokens, none: nobody could say which one counts.
std::shared_ptr<Grant> Routes::grant_of(const net::RequestHead& head) const {
  const std::string_view* found = nullptr;
  for (const auto& [name, value] : head.headers) {
    if (!net::equal_ignoring_case(name, "authorization")) continue;
    if (found != nullptr) return {};
    found = &value;
  }
  return found != nullptr ? access_.find(*found) : nullptr;
}

/// Answers by itself if not.
bool Routes::admit(Call& call, const Need& need) const {
  if (!access_.required()) return true;
  const net::HttpRequest& request = call.request();
  const std::string_view target = request.head.target;
  call.grant = grant_of(request.head);
  if (!call.grant) {
    call.exchange.reply(no_token_answer(target));
    return false;
  }
  if (const auto wait = call.grant->take_request(access_.clock().mono())) {
    ++access_.limited().by_rate;
    call.exchange.reply(
        limited_answer(target, *wait, "the token's requests for this second are used up"));
    return false;
  }
  Status allowed;
  if (!call.grant->may(need.may)) allowed = not_allowed(need.may);
  if (allowed.ok() && need.on == Need::On::part) allowed = call.check(need.may, call.parts[0]);
  if (allowed.ok() && need.on == Need::On::everything && !call.grant->covers_all())
    allowed = {Code::permission_denied,
               "this is for tokens that are good for all queues, and this one is bound to some"};
  if (!allowed.ok()) call.exchange.reply(failure_answer(target, allowed));
  return allowed.ok();
}

void Routes::handle(net::Exchange exchange) const {
  const std::string_view target = exchange.request().head.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::vector<std::string_view> segments = split(target.substr(1, mark - 1), '/');
  const Match match = find(exchange.request().head.method, segments);
  RouteStats& stats = match.route != nullptr ? *match.route->stats : *nowhere_;
  Call call{.exchange = observed(std::move(exchange), stats)};
  if (match.route == nullptr) {
    const bool nowhere = match.allowed.empty();
    net::HttpResponse answer =
        nowhere ? failure_answer(target, {Code::not_found, "there is no such path"})
                : failure_answer(target, {Code::invalid_argument, "this path has no such method"});
    if (!nowhere) answer.status = 405;
    if (!nowhere) answer.headers.emplace_back("Allow", match.allowed);
    return call.exchange.reply(std::move(answer));
  }
  bool readable = read_query(call, target.substr(std::min(mark + 1, target.size())));
  for (std::size_t i = 0; i < segments.size() && readable; ++i) {
    if (!match.route->segments[i].empty()) continue;
    auto part = decode(segments[i]);
    readable = part.has_value();
    if (part) call.parts.push_back(std::move(*part));
  }
  if (!readable) {
    net::HttpResponse answer = failure_answer(
        target, {Code::invalid_argument, "the address is not percent-encoded UTF-8"});
    answer.status = 400;
    return call.exchange.reply(std::move(answer));
  }
  if (match.route->need && !admit(call, *match.route->need)) return;
  match.route->handler(std::move(call));
}

}  // namespace sluice::server
