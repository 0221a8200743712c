// SPDX-License-Identifier: MIT
#include "net/proxy.h"

#include <algorithm>

#include "net/http_head.h"
#include "net/http_url.h"

namespace sluice::net {
namespace {

constexpr std::string_view kSocks = "socks5://";
constexpr std::string_view kHttp = "http://";

Failure bad_proxy(std::string_view why) {
  return error(Code::invalid_argument, std::string(why) +
                                           ": write socks5://host:1080 or http://host:3128, "
                                           "perhaps with user:password@ before the host");
}

bool starts_with_scheme(std::string_view text, std::string_view scheme) {
  return equal_ignoring_case(text.substr(0, scheme.size()), scheme);
}

bool is_plain(char c) {
  return c > ' ' && c < '\x7f';
}

Status take_login(Proxy& proxy, std::string_view login) {
  const std::size_t colon = login.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return bad_proxy("the login is not of the form user:password");
  proxy.user = login.substr(0, colon);
  proxy.password = login.substr(colon + 1);
  if (proxy.password.empty() || proxy.user.size() > kProxyLoginBytesMax ||
      proxy.password.size() > kProxyLoginBytesMax)
    return bad_proxy("user and password have 1 to 255 bytes each");
  return {};
}

}  // namespace

std::string Proxy::place() const {
  const HttpUrl url{.host = host, .port = port};
  const std::string origin = url.origin();
  return std::string(kind == Kind::socks5 ? kSocks : kHttp) + origin.substr(origin.find("//") + 2);
}

Result<Proxy> parse_proxy(std::string_view text) {
  Proxy proxy;
  if (!std::ranges::all_of(text, is_plain)) return bad_proxy("it holds more than printable ASCII");
  if (starts_with_scheme(text, kHttp))
    proxy.kind = Proxy::Kind::http;
  else if (!starts_with_scheme(text, kSocks))
    return bad_proxy("it is of no kind that is spoken here");
  std::string_view rest = text.substr(text.find("//") + 2);
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    SLUICE_TRY(take_login(proxy, rest.substr(0, at)));
    rest.remove_prefix(at + 1);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto url = parse_http_url("http://" + std::string(rest));
  // A port that is not written is another for another scheme.
  const auto other = parse_http_url("https://" + std::string(rest));
  if (!url || !other || url->target != "/" || rest.find_first_of("/?#") != rest.npos)
    return bad_proxy("it names no host and port");
  if (url->port != other->port) return bad_proxy("the port is missing");
  proxy.host = url->host;
  proxy.port = url->port;
  return proxy;
}

}  // namespace sluice::net
