// SPDX-License-Identifier: MIT
// What a connection of a server runs over: a plain socket, or TLS.
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

#include "net/http_connection.h"

namespace sluice::net {
namespace {

constexpr int kAtOnce = MSG_DONTWAIT | MSG_NOSIGNAL;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable_t<Executor>{});

class PlainConnection final : public HttpConnection {
 public:
  PlainConnection(std::shared_ptr<Loop> loop, std::shared_ptr<HttpShared> shared, std::string peer,
                  Socket socket)
      : HttpConnection(std::move(loop), std::move(shared), std::move(peer)),
        descriptor_(socket.native_handle()),
        socket_(std::move(socket)) {}

 private:
  Task<bool> shake_hands() override { co_return true; }
  /// The first request has mostly come by now. Later ones wait their turn, or a client that is
  /// quick enough would have the loop to itself.
  Task<Got> read_some(asio::mutable_buffer into) override {
    if (std::exchange(is_first_read_, false)) return read_first(into);
    return socket_.async_read_some(into, kTuple);
  }
  Task<Got> read_first(asio::mutable_buffer into) {
    const ssize_t count = recv(socket_.native_handle(), into.data(), into.size(), kAtOnce);
    if (count > 0) co_return Got(boost::system::error_code(), count);
    co_return co_await socket_.async_read_some(into, kTuple);
  }
  /// There nearly always is room, and then it takes no turn of the loop.
  Task<Got> write_some(asio::const_buffer from) override {
    const ssize_t count = send(socket_.native_handle(), from.data(), from.size(), kAtOnce);
    if (count > 0) co_return Got(boost::system::error_code(), count);
    co_return co_await socket_.async_write_some(from, kTuple);
  }
  Task<void> finish_writing() override {
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    co_return;
  }
  Socket& socket() override { return socket_; }
  int descriptor() const override { return descriptor_; }

  const int descriptor_;
  Socket socket_;
  bool is_first_read_ = true;
};

class TlsConnection final : public HttpConnection {
 public:
  TlsConnection(std::shared_ptr<Loop> loop, std::shared_ptr<HttpShared> shared, std::string peer,
                Socket socket, std::shared_ptr<TlsContext> tls)
      : HttpConnection(std::move(loop), std::move(shared), std::move(peer)),
        descriptor_(socket.native_handle()),
        tls_(std::move(tls)),
        stream_(std::move(socket), *tls_) {
    request_.secure = true;
  }

 private:
  Task<bool> shake_hands() override {
    const auto [problem] = co_await stream_.async_handshake(stream_.server, kTuple);
    co_return !problem;
  }
  Task<Got> read_some(asio::mutable_buffer into) override {
    return stream_.async_read_some(into, kTuple);
  }
  Task<Got> write_some(asio::const_buffer from) override {
    return stream_.async_write_some(from, kTuple);
  }
  Task<void> finish_writing() override { co_await stream_.async_shutdown(kTuple); }
  Socket& socket() override { return stream_.next_layer(); }
  int descriptor() const override { return descriptor_; }

  const int descriptor_;
  std::shared_ptr<TlsContext> tls_;
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

std::shared_ptr<HttpConnection> make_plain_connection(std::shared_ptr<Loop> loop,
                                                      std::shared_ptr<HttpShared> shared,
                                                      std::string peer, Socket socket) {
  return std::make_shared<PlainConnection>(std::move(loop), std::move(shared), std::move(peer),
                                           std::move(socket));
}

std::shared_ptr<HttpConnection> make_tls_connection(std::shared_ptr<Loop> loop,
                                                    std::shared_ptr<HttpShared> shared,
                                                    std::string peer, Socket socket,
                                                    std::shared_ptr<TlsContext> tls) {
  return std::make_shared<TlsConnection>(std::move(loop), std::move(shared), std::move(peer),
                                         std::move(socket), std::move(tls));
}

}  // namespace sluice::net
