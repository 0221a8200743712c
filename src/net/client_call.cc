// SPDX-License-Identifier: MIT
#include "net/client_call.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::net {
namespace {

// These say where the message ends and what the connection is for, which is the client's affair.
constexpr std::array<std::string_view, 10> kOwnHeaders = {
    "connection",        "content-length", "expect",          "host", "keep-alive", "te", "trailer",
    "transfer-encoding", "upgrade",        "proxy-connection"};

// Another method could make the answer something else than an answer.
constexpr std::string_view kTunnel = "CONNECT";

/// A name or an address, perhaps with a port.
bool is_host_field(std::string_view host) {
  return std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._:[]").find(c) != std::string_view::npos;
  });
}

bool may_be_repeated(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE";
}

Status check(const ClientRequest& request) {
  if (!is_token(request.method) || request.method == kTunnel)
    return error(Code::invalid_argument, "the method is none that can be sent: write GET or POST");
  if (!is_host_field(request.host))
    return error(Code::invalid_argument,
                 "the host is neither a name nor an address: write host or "
                 "host:port");
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name))
      return error(Code::invalid_argument,
                   "the name of a header is empty or holds what a name may not: letters, digits "
                   "and '-' will do");
    if (!is_field_value(value))
      return error(Code::invalid_argument,
                   "the value of the header " + name +
                       " holds a control character, as a line end: encode it");
    const auto is_same = [&](std::string_view own) { return equal_ignoring_case(own, name); };
    if (std::ranges::any_of(kOwnHeaders, is_same))
      return error(Code::invalid_argument,
                   "the header " + name + " is set by the client itself: leave it out");
  }
  return {};
}

std::string head_of(const ClientRequest& request, const HttpUrl& url) {
  std::string head;
  head.reserve(256);
  head.append(request.method).append(" ").append(url.target).append(" HTTP/1.1\r\n");
  head.append("Host: ").append(request.host.empty() ? url.host_field() : request.host);
  head.append("\r\n");
  const bool has_body = !request.body.empty() || request.method == "POST" ||
                        request.method == "PUT" || request.method == "PATCH";
  if (has_body)
    head.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  for (const auto& [name, value] : request.headers)
    head.append(name).append(": ").append(value).append("\r\n");
  return head.append("\r\n");
}

}  // namespace

Result<std::shared_ptr<ClientCall>> make_call(ClientRequest request, HttpClient::Done done) {
  SLUICE_LET(url, parse_http_url(request.url));
  SLUICE_TRY(check(request));
  auto call = std::make_shared<ClientCall>();
  if (!request.from.empty()) {
    call->from = numeric_address(request.from, 0);
    if (!call->from)
      return error(Code::invalid_argument,
                   "what to send from is no address: write 192.0.2.1 or 2001:db8::1");
  }
  if (!request.proxy.empty()) {
    SLUICE_LET(proxy, parse_proxy(request.proxy));
    if (url.scheme == HttpUrl::Scheme::unix_socket)
      return error(Code::invalid_argument, "no proxy leads to a Unix socket: leave it out");
    call->tunnel = std::make_shared<const Tunnel>(Tunnel{std::move(proxy), url.host, url.port});
  }
  std::string head = head_of(request, url);
  call->origin = url.origin();
  call->way = call->origin + " " + request.from + " " + request.proxy;
  call->url = std::move(url);
  call->repeatable = request.repeatable || may_be_repeated(request.method);
  call->request = std::make_shared<const Outgoing>(
      Outgoing{std::move(request.method), std::move(head), std::move(request.body)});
  call->done = std::move(done);
  call->stop = std::move(request.stop);
  return call;
}

}  // namespace sluice::net
