// SPDX-License-Identifier: MIT
// What the tests of the client talk to: servers that behave as a test says, and their certificates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/mutex.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace sluice::net {

/// Waits for something that comes sooner or later; the test's time limit is the patience.
template <class Condition>
void until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

/// The other end of one connection, for a server without any idea of HTTP.
class RawPeer {
 public:
  explicit RawPeer(int fd) : socket_(fd) {}

  /// The next request, head and body; empty if the client has ended the connection.
  std::string request();
  /// Whatever has come, or the empty string at the end.
  std::string some();
  /// Until the client ends the connection.
  void wait_for_end();
  /// False if the client takes no more.
  bool send(std::string_view text) const;
  /// The client finds the connection broken, not ended.
  void reset() const;
  int fd() const { return socket_.get(); }

 private:
  bool more();

  Descriptor socket_;
  std::string text_;
};

/// Runs `serve` for every connection, with its number from 0 on, and ends it afterwards.
class RawServer {
 public:
  using Serve = std::function<void(RawPeer& peer, unsigned number)>;

  explicit RawServer(Serve serve);
  ~RawServer();
  std::string url(std::string_view target = "/") const;
  std::uint16_t port() const { return port_; }
  unsigned accepted();

 private:
  void accept();

  const Serve serve_;
  Descriptor listening_;
  std::uint16_t port_ = 0;
  Mutex mutex_;
  bool over_ SLUICE_GUARDED_BY(mutex_) = false;
  unsigned accepted_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::list<std::unique_ptr<RawPeer>> peers_ SLUICE_GUARDED_BY(mutex_);
  std::list<std::jthread> threads_;
  std::jthread accepting_;
};

/// Names that the system does not know, all of them at 127.0.0.1.
LookUp everything_is_here();

/// Answers with what it was asked: method, target, the header X-Mark or "-", body.
void echo(Exchange exchange);

std::unique_ptr<HttpServer> open_server(HttpHandler handler = echo, HttpServerOptions options = {});
std::string url_of(const HttpServer& server, std::string_view target = "/");
ClientRequest post(std::string url, std::string body);

/// Keeps requests until they are answered by the test.
class Keeper {
 public:
  HttpHandler handler() {
    return [this](Exchange exchange) {
      const MutexLock lock(mutex_);
      kept_.push_back(std::move(exchange));
    };
  }
  std::size_t count() {
    const MutexLock lock(mutex_);
    return kept_.size();
  }
  /// Answers the oldest with its own body.
  void answer_one() {
    const MutexLock lock(mutex_);
    std::string body = kept_.front().request().body;
    kept_.front().reply({.body = std::move(body)});
    kept_.pop_front();
  }

 private:
  Mutex mutex_;
  std::deque<Exchange> kept_ SLUICE_GUARDED_BY(mutex_);
};

/// Collects the outcome of calls that do not block.
class Outcomes {
 public:
  HttpClient::Done add() {
    return [this](Result<ClientResponse> result) {
      const MutexLock lock(mutex_);
      all_.push_back(std::move(result));
    };
  }
  std::size_t count() {
    const MutexLock lock(mutex_);
    return all_.size();
  }
  std::string body(std::size_t index) {
    const MutexLock lock(mutex_);
    return all_.at(index).value().body;
  }
  Code code(std::size_t index) {
    const MutexLock lock(mutex_);
    return status_of(all_.at(index)).code();
  }

 private:
  Mutex mutex_;
  std::deque<Result<ClientResponse>> all_ SLUICE_GUARDED_BY(mutex_);
};

/// With patience, unless the test asks for something else.
std::unique_ptr<HttpClient> open_client(HttpClientOptions options = {});

/// Writes a self-signed certificate and its key; `names` is as in "DNS:a.test,IP:127.0.0.1".
TlsFiles make_certificate(const std::string& path, const std::string& names);

}  // namespace sluice::net
