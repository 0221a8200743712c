// SPDX-License-Identifier: MIT
#include "net/client_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace sluice::net {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
// Bodies up to this size are sent with their head.
constexpr std::size_t kJoinedMax = 16 * 1024;
// A timer of Asio's cannot wait for ever.
constexpr Duration kTimerMax = std::chrono::hours(1);

void close_socket(Socket& socket) {
  boost::system::error_code ignored;
  socket.close(ignored);
}

}  // namespace

void ClientConnection::close() {
  closed_ = true;
  good_ = false;
  ++watch_;
  close_socket(stream_->socket());
}

Task<std::string> ClientConnection::connect(std::vector<Address> addresses, MonoTime until) {
  std::string why = "it was closed";
  for (std::size_t i = 0; i < addresses.size() && !closed_; ++i) {
    const auto left = static_cast<Duration::rep>(addresses.size() - i);
    why = co_await connect_to(addresses[i], (until - loop_.now()) / left);
    if (why.empty()) break;
  }
  if (why.empty() && way_.tunnel) why = co_await open_tunnel(stream_->socket(), *way_.tunnel);
  if (why.empty()) why = co_await stream_->shake_hands();
  co_return why;
}

/// Empty, or why not.
std::string ClientConnection::bind_to(const Address& from) {
  Socket& socket = stream_->socket();
  const asio::generic::stream_protocol::endpoint endpoint(from.raw(), from.bytes);
  boost::system::error_code problem;
  socket.open(endpoint.protocol(), problem);
  // The port is chosen when it is known where to: then many connections can share one.
  const int on = 1;
  if (!problem) {
    setsockopt(socket.native_handle(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    socket.bind(endpoint, problem);
  }
  if (!problem) return "";
  close_socket(socket);
  return "cannot send from " + peer_name(from.storage) + ": " + problem.message();
}

Task<std::string> ClientConnection::connect_to(const Address& address, Duration time) {
  Socket& socket = stream_->socket();
  if (way_.from) {
    if (std::string why = bind_to(*way_.from); !why.empty()) co_return why;
  }
  Timer limit(loop_.context());
  limit.expires_after(std::min(time, kTimerMax));
  const std::uint64_t attempt = ++attempt_;
  limit.async_wait([weak = weak_from_this(), attempt](boost::system::error_code) {
    const auto self = weak.lock();
    if (self && self->attempt_ == attempt) close_socket(self->stream_->socket());
  });
  const asio::generic::stream_protocol::endpoint endpoint(address.raw(), address.bytes);
  auto [problem] = co_await socket.async_connect(endpoint, kTuple);
  ++attempt_;
  // Asio takes a Unix socket for connected that was told to try again later.
  if (!problem) static_cast<void>(socket.remote_endpoint(problem));
  if (!problem) {
    const int on = 1;
    if (address.storage.ss_family != AF_UNIX)
      setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    co_return "";
  }
  close_socket(socket);
  const std::string name = peer_name(address.storage);
  co_return (problem == asio::error::operation_aborted ? "no answer" : problem.message()) +
      (name == "unix" ? "" : " (" + name + ")") + "; check the address, and that the server runs";
}

Task<tl::expected<ClientResponse, std::string>> ClientConnection::exchange(
    std::shared_ptr<const Outgoing> request, AnswerLimits limits) {
  sending_ = true;
  good_ = answered_ = false;
  HttpAnswer answer(request->method, limits);
  // A server may answer, and stop reading, before it has seen all of the request.
  asio::co_spawn(loop_.context(), send(shared_from_this(), std::move(request)), asio::detached);
  const auto bytes = std::make_unique<std::array<char, kReadBytes>>();
  while (answer.state() == HttpAnswer::State::more) {
    const auto [problem, count] = co_await stream_->read_some(asio::buffer(*bytes));
    answer.take({bytes->data(), count});
    answered_ = answer.begun();
    if (problem) answer.end(problem == asio::error::eof ? "" : problem.message());
  }
  if (answer.state() == HttpAnswer::State::wrong) co_return tl::unexpected(answer.why());
  good_ = answer.keeps_connection() && !sending_ && !closed_;
  co_return std::move(answer.response());
}

/// If it fails, there may still be an answer; if there is none, whoever reads will know.
Task<void> ClientConnection::send(std::shared_ptr<ClientConnection> self,
                                  std::shared_ptr<const Outgoing> request) {
  if (request->body.size() <= kJoinedMax) {
    const std::string text = request->head + request->body;
    self->sending_ = !co_await self->write(text);
    co_return;
  }
  if (co_await self->write(request->head)) self->sending_ = !co_await self->write(request->body);
}

Task<bool> ClientConnection::write(std::string_view text) {
  while (!text.empty()) {
    const auto [problem, count] = co_await stream_->write_some(asio::buffer(text));
    if (problem) co_return false;
    text.remove_prefix(count);
  }
  co_return true;
}

void ClientConnection::watch(std::function<void()> ended) {
  const std::uint64_t watch = ++watch_;
  stream_->socket().async_wait(
      Socket::wait_read,
      [weak = weak_from_this(), watch, ended = std::move(ended)](boost::system::error_code) {
        const auto self = weak.lock();
        if (self && self->watch_ == watch) ended();
      });
}

bool ClientConnection::unwatch() {
  ++watch_;
  boost::system::error_code ignored;
  stream_->socket().cancel(ignored);
  // The kernel may know more than has come to the loop.
  pollfd server{.fd = stream_->socket().native_handle(), .events = POLLIN, .revents = 0};
  return good_ && poll(&server, 1, 0) == 0;
}

}  // namespace sluice::net
