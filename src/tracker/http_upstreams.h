// SPDX-License-Identifier: MIT
// Upstream trackers that are told by HTTP and HTTPS.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstddef>
#include <memory>
#include <string>

#include "net/http_client.h"
#include "tracker/name_cache.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

struct HttpUpstreamsOptions {
  std::size_t connections_max = 1'024;
  /// A host is a scheme, a name and a port.
  std::size_t connections_per_host_max = 16;
  std::size_t answer_bytes_max = 1024 * 1024;
  unsigned redirects_max = 3;
  std::string user_agent = "retracker";
  std::string ca_file = {};  ///< See net::HttpClientOptions.
  net::LookUp look_up = net::look_up;
  NameLives name_lives = {};
  const Clock* clock = &system_clock();
};

/// Asks with GET, over connections that are kept open. What the answers mean is in http_outcome.h.
///
/// Redirects: followed, within the timeout. One whose query does not name a torrent gets the
/// announce again. The Host header of the upstream goes only to where its uri leads.
///
/// The `ip` of an upstream that is no address, and a uri that is none of http or https, are
/// unreachable. Reasons name the host, never the target, which may hold a key.
///
/// Concurrency: announce() may be called from any thread, also by `done`, which comes on a thread
/// of its own, where it must not block, or within announce().
class HttpUpstreams final : public UpstreamTransport {
 public:
  /// `invalid_argument` if the file of certificates makes no sense, or a limit is zero.
  static Result<std::unique_ptr<HttpUpstreams>> open(HttpUpstreamsOptions options = {});
  /// Ends the calls that are under way; their `done` has come when it returns. Waits for names that
  /// are being looked up. Not from `done`.
  ~HttpUpstreams() override;

  void announce(const UpstreamRequest& request, Done done) override;

  net::HttpClientStats stats() const { return client_->stats(); }

 private:
  struct Call;
  HttpUpstreams(HttpUpstreamsOptions options, std::unique_ptr<net::HttpClient> client);
  void send(const std::shared_ptr<Call>& call);
  void answered(const std::shared_ptr<Call>& call, Result<net::ClientResponse> answer);
  void redirect(const std::shared_ptr<Call>& call, const net::ClientResponse& answer);

  const HttpUpstreamsOptions options_;
  const std::unique_ptr<net::HttpClient> client_;
};

}  // namespace sluice::tracker
