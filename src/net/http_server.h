// SPDX-License-Identifier: MIT
// An HTTP/1.1 server: keep-alive, pipelining, limits and deadlines, TLS, Unix sockets.
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/http.h"
#include "net/http_head.h"

namespace sluice::net {

struct TlsFiles {
  std::string certificate = {};  ///< PEM, with the chain.
  std::string key = {};          ///< PEM.
};

struct HttpServerOptions {
  /// "127.0.0.1:3100", "[::1]:3100", "unix:/run/sluiced.sock". Port 0 takes a free one.
  std::string listen = {};
  /// TLS 1.2 or later if both names are given.
  TlsFiles tls = {};

  HeadLimits head = {};
  std::size_t head_bytes_max = 16 * 1024;
  std::size_t body_bytes_max = 2 * 1024 * 1024;
  std::size_t connections_max = 10'000;
  std::size_t connections_per_address_max = 5'000;

  /// From the first byte, or from the connection, to the end of the head; TLS included.
  Duration head_time = std::chrono::seconds(10);
  /// A body may take this long and a second more for each `rate_min` bytes that have come.
  Duration body_time = std::chrono::seconds(10);
  /// Without taking a byte of the answer; and in all, with a second more for each `rate_min` bytes.
  Duration write_time = std::chrono::seconds(30);
  std::size_t rate_min = 1024;
  /// Between requests.
  Duration idle_time = std::chrono::seconds(60);

  unsigned loops = 0;  ///< Threads; 0: one per core.
  const Clock* clock = &system_clock();
  LogSink log = {};
};

struct HttpServerStats {
  std::uint64_t connections = 0;  ///< Open now.
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;    ///< Connections beyond a limit.
  std::uint64_t requests = 0;   ///< Given to the handler.
  std::uint64_t malformed = 0;  ///< Requests that were not.
  std::uint64_t too_slow = 0;   ///< Connections that a deadline ended.
};

/// Called on one of the server's threads for every request that is well framed. It must not block;
/// the answer may be given later, from any thread. Requests of one connection come one at a time.
using HttpHandler = std::function<void(Exchange exchange)>;

/// Lifecycle: open() listens and answers at once; drain() or the destructor ends it. Every member
/// may be called from any thread, but not from a handler.
class HttpServer {
 public:
  /// `unavailable` if the address is in use, `permission_denied` if it may not be used,
  /// `invalid_argument` if it is none or the TLS files make no sense.
  static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options, HttpHandler handler);
  virtual ~HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// As in the options, with the port that was taken.
  virtual const std::string& address() const = 0;
  virtual HttpServerStats stats() const = 0;

  /// New connections use what the files hold now. If they make no sense, nothing changes.
  virtual Status reload_tls() = 0;

  /// Accepts no more, closes connections that wait for a request, lets others have their answer.
  /// Whether all were gone after `patience`; those that were not are cut off.
  virtual bool drain(Duration patience) = 0;

 protected:
  HttpServer() = default;
};

}  // namespace sluice::net
