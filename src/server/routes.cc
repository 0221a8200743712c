// SPDX-License-Identifier: MIT
#include "server/routes.h"

#include <algorithm>

#include "codec/json.h"
#include "codec/percent.h"
#include "server/answer.h"

namespace sluice::server {
namespace {

std::vector<std::string_view> split(std::string_view text, char sign) {
  std::vector<std::string_view> parts;
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

}  // namespace

void Routes::add(std::string_view method, std::string_view path, CallHandler handler) {
  Route route{.method = std::string(method), .segments = {}, .handler = std::move(handler)};
  for (const std::string_view part : split(path.substr(1), '/'))
    route.segments.emplace_back(part.starts_with(':') ? "" : part);
  routes_.push_back(std::move(route));
}

void Routes::handle(net::Exchange exchange) const {
  const std::string_view target = exchange.request().head.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::vector<std::string_view> segments = split(target.substr(1, mark - 1), '/');
  std::string allowed;
  const Route* found = nullptr;
  for (const Route& route : routes_) {
    if (!fits(route.segments, segments)) continue;
    if (route.method == exchange.request().head.method) {
      found = &route;
      break;
    }
    if (allowed.find(route.method) == std::string::npos)
      allowed.append(allowed.empty() ? "" : ", ").append(route.method);
  }
  if (found == nullptr) {
    net::HttpResponse answer =
        text_answer(allowed.empty() ? 404 : 405,
                    allowed.empty() ? "There is no such path." : "This path has no such method.");
    if (!allowed.empty()) answer.headers.emplace_back("Allow", allowed);
    return exchange.reply(std::move(answer));
  }
  Call call{.exchange = std::move(exchange)};
  bool readable = read_query(call, target.substr(std::min(mark + 1, target.size())));
  for (std::size_t i = 0; i < segments.size() && readable; ++i) {
    if (!found->segments[i].empty()) continue;
    auto part = decode(segments[i]);
    readable = part.has_value();
    if (part) call.parts.push_back(std::move(*part));
  }
  if (!readable)
    return call.exchange.reply(text_answer(400, "The address is not percent-encoded UTF-8."));
  found->handler(std::move(call));
}

}  // namespace sluice::server
