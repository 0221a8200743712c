// SPDX-License-Identifier: MIT
#include "net/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <thread>
#include <vector>

#include "base/check.h"
#include "net/address.h"
#include "net/http_connection.h"
#include "net/listen.h"

namespace sluice::net {
namespace {

using ListenSocket = asio::posix::basic_stream_descriptor<Executor>;

// When there are no descriptors left, those that come wait in the kernel's queue meanwhile.
constexpr std::chrono::milliseconds kNoDescriptors{50};
constexpr std::chrono::milliseconds kDrainLook{5};
constexpr int kAcceptedInARow = 64;

class Server final : public HttpServer {
 public:
  Server(HttpServerOptions options, HttpHandler handler, Listener listener,
         std::shared_ptr<TlsContext> tls)
      : address_(std::move(listener.address)), tls_(std::move(tls)) {
    shared_->options = std::move(options);
    shared_->handler = std::move(handler);
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const unsigned count = shared_->options.loops != 0 ? shared_->options.loops : cores;
    for (unsigned i = 0; i < count; ++i)
      loops_.push_back(std::make_shared<Loop>(*shared_->options.clock));
    listening_.emplace(loops_[0]->context(), listener.socket.release());
    asio::co_spawn(loops_[0]->context(), accept(), asio::detached);
    for (const auto& loop : loops_) loop->start();
  }
  ~Server() override {
    for (const auto& loop : loops_) loop->stop();
  }

  const std::string& address() const override { return address_; }
  HttpServerStats stats() const override;
  Status reload_tls() override;
  bool drain(Duration patience) override;

 private:
  Task<void> accept();
  void admit(int fd, const sockaddr_storage& address);
  void begin(const std::shared_ptr<Loop>& loop, int fd, std::string peer);
  std::shared_ptr<TlsContext> tls();

  const std::string address_;
  const std::shared_ptr<HttpShared> shared_ = std::make_shared<HttpShared>();
  std::vector<std::shared_ptr<Loop>> loops_;
  std::optional<ListenSocket> listening_;  // On the first loop.
  std::size_t next_loop_ = 0;
  Mutex mutex_;
  std::shared_ptr<TlsContext> tls_ SLUICE_GUARDED_BY(mutex_);
};

Task<void> Server::accept() {
  Timer pause(loops_[0]->context());
  for (;;) {
    const auto [problem] = co_await listening_->async_wait(
        ListenSocket::wait_read, asio::as_tuple(asio::use_awaitable_t<Executor>{}));
    if (problem) co_return;
    for (int accepted = 1;; ++accepted) {
      // A short request is answered at once. The connections that are open have their turn too.
      if (accepted % kAcceptedInARow == 0) co_await asio::post(loops_[0]->context(), kAwait);
      sockaddr_storage address{};
      socklen_t bytes = sizeof address;
      const int fd = accept4(listening_->native_handle(), reinterpret_cast<sockaddr*>(&address),
                             &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        admit(fd, address);
        continue;
      }
      const int why = errno;
      if (why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS) {
        pause.expires_after(kNoDescriptors);
        co_await pause.async_wait(kAwait);
      }
      // These are over with the connection that they befell.
      if (why != EINTR && why != ECONNABORTED) break;
    }
  }
}

void Server::admit(int fd, const sockaddr_storage& address) {
  ++shared_->accepted;
  std::string peer = peer_name(address);
  if (!shared_->enter(peer)) {
    ++shared_->refused;
    ::close(fd);
    return;
  }
  const std::shared_ptr<Loop>& loop = loops_[next_loop_++ % loops_.size()];
  if (loop->is_this_thread()) return begin(loop, fd, std::move(peer));
  loop->post(
      [this, &loop, fd, peer = std::move(peer)]() mutable { begin(loop, fd, std::move(peer)); });
}

void Server::begin(const std::shared_ptr<Loop>& loop, int fd, std::string peer) {
  Socket socket(loop->context(), asio::generic::stream_protocol(AF_INET, IPPROTO_TCP), fd);
  const std::shared_ptr<TlsContext> secure = tls();
  std::shared_ptr<HttpConnection> connection =
      secure ? make_tls_connection(loop, shared_, std::move(peer), std::move(socket), secure)
             : make_plain_connection(loop, shared_, std::move(peer), std::move(socket));
  asio::co_spawn(
      loop->context(),
      [connection = std::move(connection)]() -> Task<void> { co_await connection->serve(); },
      asio::detached);
}

std::shared_ptr<TlsContext> Server::tls() {
  const MutexLock lock(mutex_);
  return tls_;
}

HttpServerStats Server::stats() const {
  return {.connections = shared_->connections(),
          .accepted = shared_->accepted,
          .refused = shared_->refused,
          .requests = shared_->requests,
          .malformed = shared_->malformed,
          .too_slow = shared_->too_slow};
}

Status Server::reload_tls() {
  if (shared_->options.tls.certificate.empty()) return {};
  SLUICE_LET(fresh, load_tls(shared_->options.tls));
  const MutexLock lock(mutex_);
  tls_ = std::move(fresh);
  return {};
}

bool Server::drain(Duration patience) {
  SLUICE_CHECK(!loops_[0]->is_this_thread());
  shared_->draining = true;
  loops_[0]->post([this] { listening_->close(); });
  for (const auto& loop : loops_)
    loop->post([loop = loop.get()] {
      const std::vector<Watched*> all(loop->watched().begin(), loop->watched().end());
      for (Watched* one : all) static_cast<HttpConnection*>(one)->close_if_idle();
    });
  const Clock& clock = *shared_->options.clock;
  const MonoTime end = clock.mono() + patience;
  while (shared_->connections() > 0 && clock.mono() < end) clock.sleep_for(kDrainLook, {});
  for (const auto& loop : loops_) loop->stop();
  return shared_->connections() == 0;
}

}  // namespace

bool HttpShared::enter(const std::string& peer) {
  const MutexLock lock(mutex_);
  if (connections_ >= options.connections_max) return false;
  std::size_t& of_peer = by_peer_[peer];
  if (of_peer >= options.connections_per_address_max) return false;
  ++of_peer;
  ++connections_;
  return true;
}

void HttpShared::leave(const std::string& peer) {
  const MutexLock lock(mutex_);
  --connections_;
  const auto of_peer = by_peer_.find(peer);
  if (--of_peer->second == 0) by_peer_.erase(of_peer);
}

std::size_t HttpShared::connections() {
  const MutexLock lock(mutex_);
  return connections_;
}

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions options,
                                                     HttpHandler handler) {
  std::shared_ptr<TlsContext> tls;
  if (!options.tls.certificate.empty() || !options.tls.key.empty()) {
    SLUICE_LET(loaded, load_tls(options.tls));
    tls = std::move(loaded);
  }
  SLUICE_LET(listener, listen_on(options.listen));
  return std::make_unique<Server>(std::move(options), std::move(handler), std::move(listener),
                                  std::move(tls));
}

}  // namespace sluice::net
