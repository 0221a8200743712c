// SPDX-License-Identifier: MIT
#include "tracker/upstreams.h"

#include <string_view>
#include <utility>

#include "net/http_head.h"
#include "tracker/upstream_failure.h"

namespace sluice::tracker {
namespace {

bool has_scheme(std::string_view uri, std::string_view scheme) {
  return net::equal_ignoring_case(uri.substr(0, scheme.size()), scheme);
}

}  // namespace

Result<std::unique_ptr<Upstreams>> Upstreams::open(UpstreamsOptions options) {
  SLUICE_LET(http, HttpUpstreams::open(std::move(options.http)));
  SLUICE_LET(udp, UdpUpstreams::open(std::move(options.udp)));
  return std::unique_ptr<Upstreams>(new Upstreams(std::move(http), std::move(udp)));
}

Upstreams::Upstreams(std::unique_ptr<HttpUpstreams> http, std::unique_ptr<UdpUpstreams> udp)
    : udp_(std::move(udp)), http_(std::move(http)) {}

Upstreams::~Upstreams() {
  udp_->end();
}

void Upstreams::announce(const UpstreamRequest& request, Done done) {
  const std::string_view uri = request.upstream->uri;
  if (has_scheme(uri, "udp://")) return udp_->announce(request, std::move(done));
  if (has_scheme(uri, "http://") || has_scheme(uri, "https://"))
    return http_->announce(request, std::move(done));
  done(unreachable("the uri is none of http, https or udp"));
}

}  // namespace sluice::tracker
