// SPDX-License-Identifier: MIT
#include "net/http_url.h"

#include <algorithm>
#include <charconv>

#include "net/address.h"
#include "net/http_head.h"

namespace sluice::net {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::size_t kHostBytesMax = 253;

/// Without the URL itself, which may hold a password or a key.
Failure bad_url(std::string_view why) {
  return error(Code::invalid_argument,
               "the URL " + std::string(why) +
                   "; write http://host/path, https://host:port/path or unix:/socket:/path");
}

bool take_scheme(std::string_view& rest, std::string_view scheme) {
  if (rest.size() < scheme.size() || !equal_ignoring_case(rest.substr(0, scheme.size()), scheme))
    return false;
  rest.remove_prefix(scheme.size());
  return true;
}

/// What a name that can be looked up consists of.
bool is_host(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return copy;
}

std::string target_of(std::string_view text) {
  const std::string_view whole = text.substr(0, text.find('#'));
  return whole.starts_with('/') ? std::string(whole) : "/" + std::string(whole);
}

Result<std::uint16_t> parse_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (problem != std::errc() || end != digits.data() + digits.size() || port == 0)
    return bad_url("has a port that is no number from 1 to 65535");
  return port;
}

/// "[::1]"; the rest is what follows it.
Result<std::string> take_bracketed(std::string_view& rest) {
  const std::size_t end = rest.find(']');
  if (end == std::string_view::npos) return bad_url("has a '[' without its ']'");
  std::string host = lower(rest.substr(1, end - 1));
  const std::optional<Address> address = numeric_address(host, 0);
  if (!address || address->storage.ss_family != AF_INET6)
    return bad_url("has something in brackets that is no IPv6 address");
  rest.remove_prefix(end + 1);
  return host;
}

Result<std::string> take_name(std::string_view& rest) {
  const std::string_view name = rest.substr(0, rest.find(':'));
  if (name.empty()) return bad_url("names no host");
  if (name.size() > kHostBytesMax || !std::ranges::all_of(name, is_host))
    return bad_url("names no host that could be looked up");
  rest.remove_prefix(name.size());
  return lower(name);
}

Result<HttpUrl> parse_internet(HttpUrl::Scheme scheme, std::string_view rest) {
  HttpUrl url{.scheme = scheme};
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  url.target = target_of(rest.substr(end));
  if (authority.find('@') != std::string_view::npos)
    return bad_url("holds a user's name or password: send an Authorization header instead");
  if (authority.starts_with('[')) {
    SLUICE_LET(host, take_bracketed(authority));
    url.host = std::move(host);
  } else {
    SLUICE_LET(host, take_name(authority));
    url.host = std::move(host);
  }
  url.port = scheme == HttpUrl::Scheme::https ? kHttpsPort : kHttpPort;
  if (authority.empty()) return url;
  if (!authority.starts_with(':')) return bad_url("has something between host and path");
  SLUICE_LET(port, parse_port(authority.substr(1)));
  url.port = port;
  return url;
}

Result<HttpUrl> parse_unix(std::string_view rest) {
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  HttpUrl url{.scheme = HttpUrl::Scheme::unix_socket, .host = std::string(rest.substr(0, colon))};
  SLUICE_TRY(unix_address(url.host));
  const std::string_view target = rest.substr(std::min(colon + 1, rest.size()));
  if (!target.empty() && !target.starts_with('/') && !target.starts_with('?'))
    return bad_url("has a colon in the socket's path, or a target that does not begin with '/'");
  url.target = target_of(target);
  return url;
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace

std::string HttpUrl::origin() const {
  if (scheme == Scheme::unix_socket) return "unix:" + host;
  return (scheme == Scheme::https ? "https://" : "http://") + bracketed(host) + ":" +
         std::to_string(port);
}

std::string HttpUrl::host_field() const {
  if (scheme == Scheme::unix_socket) return "localhost";
  const std::uint16_t usual = scheme == Scheme::https ? kHttpsPort : kHttpPort;
  return port == usual ? bracketed(host) : bracketed(host) + ":" + std::to_string(port);
}

Result<HttpUrl> parse_http_url(std::string_view url) {
  if (url.size() > kUrlBytesMax)
    return bad_url("has more than " + std::to_string(kUrlBytesMax) + " bytes");
  if (!std::ranges::all_of(url, [](char c) { return c > ' ' && c < '\x7f'; }))
    return bad_url(
        "holds a space, a control character or something that is not ASCII: "
        "percent-encode it, and write a host as xn--...");
  if (take_scheme(url, "http://")) return parse_internet(HttpUrl::Scheme::http, url);
  if (take_scheme(url, "https://")) return parse_internet(HttpUrl::Scheme::https, url);
  if (take_scheme(url, "unix:")) return parse_unix(url);
  return bad_url("is of no scheme that is spoken here");
}

}  // namespace sluice::net
