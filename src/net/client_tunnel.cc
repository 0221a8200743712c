// SPDX-License-Identifier: MIT
#include "net/client_tunnel.h"

#include <netinet/in.h>
#include <openssl/evp.h>

#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <optional>
#include <string_view>

#include "net/address.h"
#include "net/client_stream.h"
#include "net/http_head.h"
#include "net/http_url.h"

namespace sluice::net {
namespace {

constexpr char kVersion = 5;
constexpr char kNoLogin = 0;
constexpr char kPasswordLogin = 2;
constexpr char kLoginVersion = 1;
constexpr char kConnect = 1;
// Kinds of addresses.
constexpr char kV4 = 1;
constexpr char kName = 3;
constexpr char kV6 = 4;

constexpr std::size_t kAnswerBytesMax = 16 * 1024;
constexpr std::string_view kBroken = "it ended the connection";

std::string_view meaning(char reply) {
  constexpr std::array<std::string_view, 9> kReplies = {"",
                                                        "it failed",
                                                        "it does not allow that",
                                                        "it cannot reach the network",
                                                        "it cannot reach the host",
                                                        "the connection was refused",
                                                        "the time is over",
                                                        "it does not know that command",
                                                        "it does not know such addresses"};
  const auto index = static_cast<unsigned char>(reply);
  return index < kReplies.size() ? kReplies[index] : "it refused, and nobody knows why";
}

std::string counted(std::string_view text) {
  return static_cast<char>(text.size()) + std::string(text);
}

std::string hello_of(const Proxy& proxy) {
  if (proxy.user.empty()) return {kVersion, 1, kNoLogin};
  return {kVersion, 2, kNoLogin, kPasswordLogin};
}

/// As a request has it: kind, address, port.
std::string address_bytes(const Tunnel& tunnel) {
  std::string bytes;
  const std::optional<Address> address = numeric_address(tunnel.host, 0);
  if (!address) {
    bytes = kName + counted(tunnel.host);
  } else if (address->storage.ss_family == AF_INET) {
    sockaddr_in four;
    std::memcpy(&four, &address->storage, sizeof four);
    bytes.assign(1, kV4).append(reinterpret_cast<const char*>(&four.sin_addr), 4);
  } else {
    sockaddr_in6 six;
    std::memcpy(&six, &address->storage, sizeof six);
    bytes.assign(1, kV6).append(reinterpret_cast<const char*>(&six.sin6_addr), 16);
  }
  bytes.push_back(static_cast<char>(tunnel.port >> 8));
  bytes.push_back(static_cast<char>(tunnel.port & 0xff));
  return bytes;
}

std::string request_of(const Tunnel& tunnel) {
  const std::string start = {kVersion, kConnect, 0};
  return start + address_bytes(tunnel);
}

Task<bool> send(Socket& socket, const std::string& bytes) {
  const auto [problem, count] = co_await asio::async_write(socket, asio::buffer(bytes), kTuple);
  co_return !problem;
}

/// Exactly so many bytes; fewer if the connection has ended.
Task<std::string> receive(Socket& socket, std::size_t bytes) {
  std::string text(bytes, '\0');
  const auto [problem, count] = co_await asio::async_read(socket, asio::buffer(text), kTuple);
  text.resize(problem ? 0 : count);
  co_return text;
}

/// Empty, or why not.
Task<std::string> log_in(Socket& socket, const Proxy& proxy) {
  const bool has_login = !proxy.user.empty();
  const std::string hello = hello_of(proxy);
  if (!co_await send(socket, hello)) co_return std::string(kBroken);
  const std::string chosen = co_await receive(socket, 2);
  if (chosen.empty()) co_return std::string(kBroken);
  if (chosen[0] != kVersion) co_return "it does not speak SOCKS5";
  if (chosen[1] == kNoLogin) co_return "";
  if (chosen[1] != kPasswordLogin || !has_login)
    co_return has_login ? "it takes no password" : "it wants a user and a password";
  const std::string login = kLoginVersion + counted(proxy.user) + counted(proxy.password);
  if (!co_await send(socket, login)) co_return std::string(kBroken);
  const std::string welcome = co_await receive(socket, 2);
  if (welcome.empty() || welcome[1] != 0) co_return "it does not know the user or the password";
  co_return "";
}

Task<std::string> open_socks(Socket& socket, const Tunnel& tunnel) {
  std::string why = co_await log_in(socket, tunnel.proxy);
  if (!why.empty()) co_return why;
  const std::string request = request_of(tunnel);
  if (!co_await send(socket, request)) co_return std::string(kBroken);
  // The last byte is the first of an address of which nobody wants to know the rest.
  const std::string reply = co_await receive(socket, 5);
  if (reply.empty()) co_return std::string(kBroken);
  if (reply[0] != kVersion) co_return "it does not speak SOCKS5";
  if (reply[1] != 0) co_return std::string(meaning(reply[1]));
  constexpr std::size_t kPortBytes = 2;
  std::size_t rest = 0;
  if (reply[3] == kV4) rest = 3 + kPortBytes;
  if (reply[3] == kV6) rest = 15 + kPortBytes;
  if (reply[3] == kName) rest = static_cast<unsigned char>(reply[4]) + kPortBytes;
  if (rest == 0) co_return "it does not speak SOCKS5";
  const std::string skipped = co_await receive(socket, rest);
  co_return skipped.empty() ? std::string(kBroken) : "";
}

std::string base64(const std::string& text) {
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  const int bytes = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  encoded.resize(static_cast<std::size_t>(bytes));
  return encoded;
}

Task<std::string> open_http(Socket& socket, const Tunnel& tunnel) {
  const std::string origin = HttpUrl{.host = tunnel.host, .port = tunnel.port}.origin();
  const std::string place = origin.substr(origin.find("//") + 2);
  std::string request = "CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n";
  if (!tunnel.proxy.user.empty())
    request += "Proxy-Authorization: Basic " +
               base64(tunnel.proxy.user + ":" + tunnel.proxy.password) + "\r\n";
  request += "\r\n";
  if (!co_await send(socket, request)) co_return std::string(kBroken);
  std::string answer;
  std::size_t head = 0;
  while (head == 0 && answer.size() < kAnswerBytesMax) {
    // Byte by byte, as what comes after the head is not the proxy's.
    const std::string more = co_await receive(socket, 1);
    if (more.empty()) co_return std::string(kBroken);
    answer += more;
    head = head_bytes(answer, answer.size() - 1);
  }
  const auto parsed = parse_response_head(answer);
  if (head == 0 || !parsed) co_return "it does not speak HTTP";
  if (parsed->status == 407) co_return "it does not know the user or the password";
  if (parsed->status / 100 != 2) co_return "it answered " + std::to_string(parsed->status);
  co_return "";
}

}  // namespace

Task<std::string> open_tunnel(Socket& socket, const Tunnel& tunnel) {
  std::string why;
  if (tunnel.proxy.kind == Proxy::Kind::socks5)
    why = co_await open_socks(socket, tunnel);
  else
    why = co_await open_http(socket, tunnel);
  co_return why.empty() ? why : "the proxy does not let it: " + why;
}

}  // namespace sluice::net
