// SPDX-License-Identifier: MIT
// Every upstream tracker, whichever protocol it speaks.
#pragma once

#include <sluice/result.h>

#include <memory>

#include "tracker/http_upstreams.h"
#include "tracker/udp_upstreams.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

struct UpstreamsOptions {
  HttpUpstreamsOptions http = {};
  UdpUpstreamsOptions udp = {};
};

/// Tells each upstream by what its uri says: http://, https:// or udp://, in any case. Any other is
/// unreachable.
///
/// Concurrency: announce() may be called from any thread, also by `done`, which must not block.
class Upstreams final : public UpstreamTransport {
 public:
  /// As HttpUpstreams::open() and UdpUpstreams::open().
  static Result<std::unique_ptr<Upstreams>> open(UpstreamsOptions options = {});
  /// Ends the calls that are under way; their `done` has come when it returns. Waits for names that
  /// are being looked up. A `done` may still call announce() meanwhile, and gets its answer too.
  ~Upstreams() override;

  void announce(const UpstreamRequest& request, Done done) override;

 private:
  Upstreams(std::unique_ptr<HttpUpstreams> http, std::unique_ptr<UdpUpstreams> udp);

  // Dies last: a `done` of the other may still call it.
  const std::unique_ptr<UdpUpstreams> udp_;
  const std::unique_ptr<HttpUpstreams> http_;
};

}  // namespace sluice::tracker
