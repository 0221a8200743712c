// SPDX-License-Identifier: MIT
#include "net/listen.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "net/address.h"

namespace sluice::net {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr int kBacklog = 4096;

Failure refuse(const std::string& address) {
  return error(Code::invalid_argument,
               "'" + address +
                   "' is no address to listen on: write 127.0.0.1:3100, [::1]:3100 or "
                   "unix:/path");
}

Failure system_failure(const std::string& address) {
  const int number = errno;
  const std::string why = "cannot listen on " + address + ": ";
  if (number == EADDRINUSE)
    return error(Code::unavailable,
                 why + "it is in use; stop the other program, or choose another with --listen");
  if (number == EACCES || number == EPERM)
    return error(Code::permission_denied, why + "permission denied; choose a port from 1024 on");
  return error(Code::unavailable, why + std::generic_category().message(number));
}

Result<Address> parse(const std::string& text) {
  if (text.starts_with(kUnix)) return unix_address(text.substr(kUnix.size()));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return refuse(text);
  std::string host = text.substr(0, colon);
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return refuse(text);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const std::optional<Address> address = numeric_address(host, port);
  if (!address || (address->storage.ss_family == AF_INET6) != bracketed) return refuse(text);
  return *address;
}

std::string with_port(const std::string& text, int fd) {
  Address taken;
  taken.bytes = sizeof taken.storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&taken.storage), &taken.bytes);
  // The port stands at the same place for both families.
  const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in&>(taken.storage).sin_port);
  return text.substr(0, text.rfind(':') + 1) + std::to_string(port);
}

/// A socket file that refuses connections was left by a program that is gone.
void remove_abandoned(const Address& address, const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), address.raw(), address.bytes) != 0 && errno == ECONNREFUSED)
    unlink(path.c_str());
}

}  // namespace

Result<Listener> listen_on(const std::string& text) {
  SLUICE_LET(address, parse(text));
  const bool local = text.starts_with(kUnix);
  if (local) remove_abandoned(address, text.substr(kUnix.size()));
  Descriptor socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_failure(text);
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Every connection inherits it.
  if (!local) setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // The client speaks first, and mostly at once: a connection is shown when its request is there,
  // or, of one that says nothing, after a second or two.
  const int seconds = 1;
  if (!local) setsockopt(socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
  const mode_t mask = umask(local ? 0177 : 0);
  const int bound = bind(socket.get(), address.raw(), address.bytes);
  umask(mask);
  if (bound != 0 || listen(socket.get(), kBacklog) != 0) return system_failure(text);
  std::string taken = local ? text : with_port(text, socket.get());
  return Listener{std::move(socket), std::move(taken)};
}

Result<std::vector<Listener>> bind_datagrams(const std::string& text, unsigned count) {
  if (text.starts_with(kUnix)) return refuse(text);
  std::vector<Listener> all;
  for (std::string taken = text; all.size() < count;) {
    SLUICE_LET(address, parse(taken));
    Descriptor socket(
        ::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return system_failure(text);
    // Not for the first: it would share the port of another program of the same user.
    const int on = 1;
    if (!all.empty()) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(socket.get(), address.raw(), address.bytes) != 0) return system_failure(text);
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    taken = with_port(text, socket.get());
    all.push_back({std::move(socket), taken});
  }
  return all;
}

Result<bool> is_loopback(const std::string& text) {
  SLUICE_LET(address, parse(text));
  if (address.storage.ss_family == AF_UNIX) return true;
  if (address.storage.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(
               &reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr) != 0;
  const auto& four = reinterpret_cast<const sockaddr_in&>(address.storage);
  return ntohl(four.sin_addr.s_addr) >> 24 == 127;
}

}  // namespace sluice::net
