// SPDX-License-Identifier: MIT
#include "tracker/upstream_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace sluice::tracker {
namespace {

// Room for many announces that are sent at once, and for their answers.
constexpr int kBufferBytes = 4 * 1024 * 1024;

net::Address address_of(const Endpoint& endpoint) {
  net::Address address;
  if (endpoint.is_v6) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(endpoint.port);
    std::memcpy(&six.sin6_addr, endpoint.address.data(), sizeof six.sin6_addr);
    std::memcpy(&address.storage, &six, sizeof six);
    address.bytes = sizeof six;
  } else {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(endpoint.port);
    std::memcpy(&four.sin_addr, endpoint.address.data(), sizeof four.sin_addr);
    std::memcpy(&address.storage, &four, sizeof four);
    address.bytes = sizeof four;
  }
  return address;
}

constexpr std::size_t kSourceBytesMax =
    CMSG_SPACE(std::max(sizeof(in_pktinfo), sizeof(in6_pktinfo)));

template <class Info>
void put_info(msghdr& message, int level, int type, const Info& info) {
  message.msg_controllen = CMSG_SPACE(sizeof info);
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = level;
  head->cmsg_type = type;
  head->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(head), &info, sizeof info);
}

/// The socket is bound to every address: each packet says from which it goes.
void set_source(msghdr& message, std::span<char> control, const Endpoint& from) {
  message.msg_control = control.data();
  if (from.is_v6) {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, from.address.data(), sizeof info.ipi6_addr);
    return put_info(message, IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
  in_pktinfo info{};
  std::memcpy(&info.ipi_spec_dst, from.address.data(), sizeof info.ipi_spec_dst);
  put_info(message, IPPROTO_IP, IP_PKTINFO, info);
}

Failure failed(const char* doing, int number) {
  return error(Code::unavailable,
               std::string(doing) + ": " + std::generic_category().message(number));
}

}  // namespace

Result<UpstreamSocket> UpstreamSocket::open(Family family) {
  const bool is_v6 = family == Family::v6;
  const int type = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  Descriptor socket(::socket(is_v6 ? AF_INET6 : AF_INET, type, 0));
  if (!socket.valid()) return failed("cannot open a socket", errno);
  const int yes = 1;
  if (is_v6 && ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) != 0)
    return failed("cannot keep a socket to IPv6", errno);
  // As much of it as the system allows.
  for (const int buffer : {SO_RCVBUF, SO_SNDBUF})
    ::setsockopt(socket.get(), SOL_SOCKET, buffer, &kBufferBytes, sizeof kBufferBytes);
  const net::Address any = address_of({.is_v6 = is_v6});
  if (::bind(socket.get(), any.raw(), any.bytes) != 0) return failed("cannot bind a socket", errno);
  return UpstreamSocket(std::move(socket));
}

Status UpstreamSocket::send(const Endpoint& to, const std::optional<Endpoint>& from,
                            std::span<const std::uint8_t> packet) const {
  net::Address address = address_of(to);
  iovec bytes{.iov_base = const_cast<std::uint8_t*>(packet.data()), .iov_len = packet.size()};
  msghdr message{};
  message.msg_name = &address.storage;
  message.msg_namelen = address.bytes;
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, kSourceBytesMax> control{};
  if (from) set_source(message, control, *from);
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  if (sent >= 0 || errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR)
    return {};
  return failed("cannot send there", errno);
}

std::optional<UpstreamSocket::Received> UpstreamSocket::receive(
    std::span<std::uint8_t> room) const {
  for (;;) {
    net::Address from;
    from.bytes = sizeof from.storage;
    const ssize_t bytes = ::recvfrom(socket_.get(), room.data(), room.size(), 0,
                                     reinterpret_cast<sockaddr*>(&from.storage), &from.bytes);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return std::nullopt;
    if (const auto endpoint = endpoint_of_socket(from))
      return Received{.from = *endpoint, .bytes = static_cast<std::size_t>(bytes)};
  }
}

}  // namespace sluice::tracker
