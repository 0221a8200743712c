// SPDX-License-Identifier: MIT
#include "tracker/upstreams.h"

#include <gtest/gtest.h>

#include "net/testing.h"
#include "tracker/upstreams_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Upstreams> open() {
  return Upstreams::open().value();
}

TEST(Upstreams, the_scheme_decides) {
  UdpTracker udp;
  const auto http =
      net::open_server([](net::Exchange exchange) { exchange.reply({.body = "de"}); });
  const auto upstreams = open();
  EXPECT_EQ(ask(*upstreams, request_to(udp.uri())).interval, 1800s);
  EXPECT_EQ(ask(*upstreams, request_to("UDP" + udp.uri().substr(3))).interval, 1800s);
  EXPECT_EQ(ask(*upstreams, request_to(net::url_of(*http))).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(ask(*upstreams, request_to("HTTP" + net::url_of(*http).substr(4))).outcome,
            UpstreamOutcome::ok);
  for (const char* uri : {"", "udp", "udp:", "ws://a/", "unix:/run/a.sock", "://", "http:/a"}) {
    const auto result = ask(*upstreams, request_to(uri));
    EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
    EXPECT_EQ(result.reason, "the uri is none of http, https or udp") << uri;
  }
}

TEST(Upstreams, the_end_ends_all_calls_even_if_they_make_others) {
  UdpTracker udp([](UdpTracker&, const udp::Request&) {});
  net::RawServer http([](net::RawPeer& peer, unsigned) { peer.wait_for_end(); });
  Results results;
  auto upstreams = open();
  Upstreams& others = *upstreams;
  const auto to_other = [&](const std::string& uri) {
    return [&, uri](UpstreamResult) { others.announce(request_to(uri), results.add()); };
  };
  for (int i = 0; i < 20; ++i) {
    upstreams->announce(request_to(udp.uri()), to_other(http.url()));
    upstreams->announce(request_to(http.url()), to_other(udp.uri()));
    upstreams->announce(request_to(http.url()), to_other(http.url()));
  }
  net::until([&] { return http.accepted() > 0 && udp.connects > 0; });
  upstreams.reset();
  ASSERT_EQ(results.count(), 60u);
  for (const auto& result : results.all()) EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
}

}  // namespace
}  // namespace sluice::tracker
