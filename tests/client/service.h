// SPDX-License-Identifier: MIT
// A service in this process, on a store in memory.
#pragma once

#include <sluice/client.h>
#include <sluice/queue.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "net/http_server.h"
#include "server/service.h"
#include "tests/support/waiting.h"

namespace sluice::client {

inline const Duration kPatience = test::patience();

/// Tests that ask for less do so to see it run out.
inline std::unique_ptr<Client> open_client(ClientOptions options) {
  if (options.call_time == ClientOptions().call_time) options.call_time = kPatience;
  if (options.connect_time == ClientOptions().connect_time) options.connect_time = kPatience;
  return Client::open(std::move(options)).value();
}

class TestService {
 public:
  explicit TestService(std::string listen = "127.0.0.1:0")
      : server_(net::HttpServer::open(
                    {.listen = std::move(listen), .loops = 1},
                    [this](net::Exchange exchange) { service_.handle(std::move(exchange)); })
                    .value()) {}
  ~TestService() { stop(); }
  TestService(const TestService&) = delete;
  TestService& operator=(const TestService&) = delete;

  /// What the client changes is looked at here, and the other way round.
  queue::Queues& queues() { return *queues_; }
  std::string address() const { return server_->address(); }
  std::string url() const {
    return address().starts_with("unix:") ? address() : "http://" + address();
  }
  /// A request has come to the service.
  void wait_for_request() const {
    while (server_->stats().requests == 0) std::this_thread::yield();
  }
  std::unique_ptr<Client> client() const { return open_client({.url = url()}); }
  void stop() {
    service_.stop_waiting();
    server_->drain(kPatience);
  }

 private:
  std::unique_ptr<kv::Store> store_ = kv::open_memory();
  std::unique_ptr<queue::Queues> queues_ = queue::Queues::open(*store_).value();
  server::Service service_{*queues_, {}};
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace sluice::client
