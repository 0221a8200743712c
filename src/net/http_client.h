// SPDX-License-Identifier: MIT
// An HTTP/1.1 client: a pool of keep-alive connections, limits and deadlines, TLS, Unix sockets.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_answer.h"
#include "net/resolver.h"

namespace sluice::net {

class Loop;

struct ClientRequest {
  std::string method = "GET";
  /// http://, https:// or unix: (see http_url.h).
  std::string url = {};
  /// What the Host field says; empty: what the URL does. Where the request goes, and whose
  /// certificate it takes, is the URL's alone.
  std::string host = {};
  /// The address of this machine to send from, as "192.0.2.1" or "2001:db8::1"; empty: whichever
  /// leads there. Addresses of the other family are not tried.
  std::string from = {};
  /// Goes through a proxy, as "socks5://host:1080" (proxy.h), which looks up the name in the URL;
  /// empty: through none. `from` is then where the proxy is asked from.
  std::string proxy = {};
  /// Further fields. Host, Content-Length and the others that frame a message are not among them.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  /// For all of the call, waiting for a connection included; 0: the client's `call_time`.
  Duration time = {};
  /// May be sent twice, as GET, HEAD, PUT and DELETE always may.
  bool repeatable = false;
  /// Ends the call with `cancelled` as soon as it is requested.
  std::stop_token stop = {};
};

struct HttpClientOptions {
  std::size_t connections_max = 256;
  /// A host is a scheme, a name and a port, and the way there (`from`, `proxy`).
  std::size_t connections_per_host_max = 16;
  /// Calls that wait for a connection; those beyond fail with `limit_exceeded`.
  std::size_t waiting_max = 10'000;

  /// Finding the address, connecting and the TLS handshake.
  Duration connect_time = std::chrono::seconds(10);
  Duration call_time = std::chrono::seconds(30);
  /// A connection that nobody needs is closed after this.
  Duration idle_time = std::chrono::seconds(30);

  AnswerLimits answer = {};

  /// PEM: trusts what this file holds and nothing else. Empty: what the system trusts.
  std::string ca_file = {};
  /// Connects to no private, loopback or other special address and to no Unix socket, whatever name
  /// led there: for URLs that strangers choose. Nor does it ask proxies, who would.
  bool public_addresses_only = false;

  LookUp look_up = net::look_up;
  /// A loop that was started and outlives the client; null: one of its own.
  Loop* loop = nullptr;
  const Clock* clock = &system_clock();  ///< For a loop of its own.
};

struct HttpClientStats {
  std::uint64_t connections = 0;  ///< Open now, or being opened.
  std::uint64_t idle = 0;         ///< Of these.
  std::uint64_t waiting = 0;      ///< Calls that have no connection.
  std::uint64_t opened = 0;       ///< Connections, since the beginning.
  std::uint64_t repeated = 0;     ///< Calls that were sent a second time.
};

/// Sends requests and collects their answers.
///
/// Answers: any status is a success of the call; redirects are passed on, not followed. Interim
/// answers (1xx) are passed over.
///
/// Connections: kept open after an answer that allows it, and used again, the last first. Calls
/// that get none wait in order, whatever their host. One that the server has closed meanwhile is
/// not used. If a connection that was used before breaks before any byte of the answer has come,
/// the request is sent once more on a new one, provided that it may be sent twice.
///
/// TLS: 1.2 or later, with the name (or address) in the URL checked against the certificate. That
/// cannot be turned off.
///
/// Failures, with a message that names the host (never the target, which may hold secrets):
///   invalid_argument   The request is wrong: URL, method, a header that holds a line end.
///   unavailable        Nothing was sent: no address, no connection, no handshake.
///   permission_denied  Nothing was sent: the address is not public.
///   limit_exceeded     Nothing was sent: too many calls wait.
///   deadline_exceeded  Nothing was sent: the call's time was over before there was a connection.
///   commit_unknown     It was sent, at least in part, and there is no whole answer: the connection
///                      broke, the answer was malformed or too large, the call's time is over.
///   cancelled          It was asked to stop, or the client or its loop has ended. It may have
///                      been sent.
///
/// Concurrency: every member may be called from any thread. One thread, the loop's, does all work
/// but for looking up names.
class HttpClient {
 public:
  /// Comes exactly once: on the loop's thread, where it must not block; or within call(), if the
  /// request is wrong or the loop has ended. It may make further calls.
  using Done = std::function<void(Result<ClientResponse>)>;

  /// `invalid_argument` if the file of trusted certificates makes no sense or a limit is zero.
  static Result<std::unique_ptr<HttpClient>> open(HttpClientOptions options = {});
  /// Ends the calls that are under way; their callbacks have come when it returns. Waits for
  /// names that are being looked up. Not from a callback.
  virtual ~HttpClient() = default;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  virtual void call(ClientRequest request, Done done) = 0;
  /// Waits for the answer. Not from a callback.
  virtual Result<ClientResponse> call(ClientRequest request) = 0;
  virtual HttpClientStats stats() const = 0;

 protected:
  HttpClient() = default;
};

}  // namespace sluice::net
