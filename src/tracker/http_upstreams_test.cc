// SPDX-License-Identifier: MIT
#include "tracker/http_upstreams.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <latch>
#include <thread>

#include "net/testing.h"
#include "tests/support/temp_dir.h"
#include "tracker/upstreams_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;
using net::RawPeer;
using net::RawServer;

std::string answer_with(const std::string& body, const std::string& head = "200 OK") {
  return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

const std::string kOk = answer_with("d8:intervali900e5:peers6:abcdefe");

std::unique_ptr<HttpUpstreams> open(HttpUpstreamsOptions options = {}) {
  return HttpUpstreams::open(std::move(options)).value();
}

/// What comes of an upstream that answers this to every request.
UpstreamResult told_by(const std::string& text, HttpUpstreamsOptions options = {}) {
  RawServer server([&](RawPeer& peer, unsigned) {
    while (!peer.request().empty() && peer.send(text)) {
    }
  });
  return ask(*open(std::move(options)), request_to(server.url("/announce")));
}

/// The first line and the Host field, if the head is of no more than these and the User-Agent.
std::string told(const std::string& request) {
  const std::string agent = "\r\nUser-Agent: retracker\r\n\r\n";
  return request.ends_with(agent) ? request.substr(0, request.size() - agent.size()) : request;
}

TEST(HttpUpstreams, an_announce_is_a_get) {
  Kept<std::string> request;
  RawServer server([&](RawPeer& peer, unsigned) {
    request.set(peer.request());
    peer.send(kOk);
  });
  const auto result = ask(*open(), request_to(server.url("/announce?key=1")));
  EXPECT_EQ(result.outcome, UpstreamOutcome::ok) << result.reason;
  EXPECT_EQ(result.interval, 900s);
  EXPECT_EQ(result.peers.v4, "abcdef");
  EXPECT_EQ(told(request.get()),
            "GET /announce?key=1&info_hash=hhhhhhhhhhhhhhhhhhhh&peer_id=pppppppppppppppppppp"
            "&port=6881&uploaded=0&downloaded=0&left=7&compact=1 HTTP/1.1\r\nHost: 127.0.0.1:" +
                std::to_string(server.port()));
}

TEST(HttpUpstreams, the_upstream_may_have_another_host_and_address) {
  Kept<std::string> request;
  RawServer server([&](RawPeer& peer, unsigned) {
    request.set(peer.request());
    peer.send(kOk);
  });
  auto wanted = request_to(server.url("/"));
  wanted.upstream = std::make_shared<const UpstreamConfig>(
      UpstreamConfig{.uri = server.url("/"), .ip = "192.0.2.9", .host = "tracker.test"});
  EXPECT_EQ(ask(*open(), wanted).outcome, UpstreamOutcome::ok);
  EXPECT_NE(request.get().find("&ip=192.0.2.9&ipv4=192.0.2.9 HTTP/1.1\r\nHost: tracker.test\r\n"),
            std::string::npos)
      << request.get();
  wanted.upstream =
      std::make_shared<const UpstreamConfig>(UpstreamConfig{.uri = server.url("/"), .ip = "here"});
  EXPECT_EQ(ask(*open(), wanted).reason, "its ip is no address");
  EXPECT_EQ(server.accepted(), 1u);
}

TEST(HttpUpstreams, every_byte_of_hash_and_peer_arrives) {
  Kept<std::string> seen;
  const auto server = net::open_server([&](net::Exchange exchange) {
    seen.set(std::string(exchange.request().head.target));
    exchange.reply({.body = "de"});
  });
  const auto upstreams = open();
  for (unsigned byte = 0; byte < 256; ++byte) {
    auto request = request_to(net::url_of(*server, "/"));
    request.announce.hash.bytes[0] = request.announce.peer.bytes[19] =
        static_cast<std::uint8_t>(byte);
    ASSERT_EQ(ask(*upstreams, request).outcome, UpstreamOutcome::ok) << byte;
    const std::string target = seen.get();
    const char digits[] = "0123456789ABCDEF";
    const std::string escaped = {'%', digits[byte >> 4], digits[byte & 15]};
    const std::string plain(1, static_cast<char>(byte));
    const auto is_told = [&](const std::string& text) {
      return target.starts_with("/?info_hash=" + text + "hhhhhhhhhhhhhhhhhhh&") &&
             target.find("&peer_id=ppppppppppppppppppp" + text + "&") != std::string::npos;
    };
    EXPECT_TRUE(is_told(escaped) || (std::isalnum(static_cast<int>(byte)) != 0 && is_told(plain)) ||
                (std::string("-._~").find(plain) != std::string::npos && is_told(plain)))
        << byte << " " << target;
  }
  EXPECT_EQ(upstreams->stats().opened, 1u);
}

TEST(HttpUpstreams, answers_are_told_apart) {
  const auto outcome = [](const std::string& text) { return told_by(text).outcome; };
  EXPECT_EQ(outcome(answer_with("", "404 Not Found")), UpstreamOutcome::refused);
  EXPECT_EQ(outcome(answer_with("d14:failure reason2:noe")), UpstreamOutcome::refused);
  EXPECT_EQ(outcome(answer_with("", "500 Broken")), UpstreamOutcome::unreachable);
  EXPECT_EQ(outcome(answer_with("garbage")), UpstreamOutcome::unreachable);
  EXPECT_EQ(outcome("garbage\r\n\r\n"), UpstreamOutcome::unreachable);
  EXPECT_EQ(outcome(answer_with("\x1f\x8b", "200 OK\r\nContent-Encoding: gzip")),
            UpstreamOutcome::unreachable);
  EXPECT_EQ(told_by(answer_with("", "429 Slow\r\nRetry-After: 7")).retry_after, 7s);
  EXPECT_EQ(told_by(answer_with("d14:failure reason2:no8:retry ini5ee")).retry_in,
            RetryIn{.after = std::chrono::minutes(5)});
}

TEST(HttpUpstreams, an_answer_may_be_large_but_not_larger) {
  const auto body = [&](std::size_t bytes) {
    const std::string digits = std::to_string(bytes);
    return "d1:x" + digits + ":" + std::string(bytes, 'x') + "e";
  };
  const std::size_t room = 1024 * 1024 - 4 - 7 - 1 - 1;
  ASSERT_EQ(body(room).size(), 1024u * 1024u);
  EXPECT_EQ(told_by(answer_with(body(room))).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(told_by(answer_with(body(room + 1))).outcome, UpstreamOutcome::unreachable);
}

TEST(HttpUpstreams, a_connection_that_is_reset_or_refused_is_unreachable) {
  std::string url;
  {
    RawServer server([](RawPeer& peer, unsigned) {
      peer.request();
      peer.reset();
    });
    url = server.url();
    EXPECT_EQ(ask(*open(), request_to(url)).outcome, UpstreamOutcome::unreachable);
  }
  const auto refused = ask(*open(), request_to(url));
  EXPECT_EQ(refused.outcome, UpstreamOutcome::unreachable);
  EXPECT_NE(refused.reason.find("127.0.0.1"), std::string::npos);
}

TEST(HttpUpstreams, a_slow_answer_ends_with_the_time_of_the_call) {
  std::latch over(1);
  RawServer server([&](RawPeer& peer, unsigned) {
    peer.request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (!over.try_wait() && peer.send("x")) std::this_thread::yield();
  });
  const auto result = ask(*open(), request_to(server.url(), 50ms));
  over.count_down();
  EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
}

TEST(HttpUpstreams, silence_ends_with_the_time_of_the_call) {
  RawServer server([](RawPeer& peer, unsigned) { peer.wait_for_end(); });
  const auto upstreams = open();
  EXPECT_EQ(ask(*upstreams, request_to(server.url(), 20ms)).outcome, UpstreamOutcome::unreachable);
  const ManualClock clock;
  EXPECT_EQ(ask(*open({.clock = &clock}), request_to(server.url(), 0ms)).reason,
            "the time for the call is over");
}

/// Redirects so many times, then answers.
class Redirecting {
 public:
  explicit Redirecting(unsigned times) : left_(times) {}
  UpstreamResult ask_it(const std::string& target = "/0") {
    auto request = request_to(server_.url(target));
    request.upstream = std::make_shared<const UpstreamConfig>(
        UpstreamConfig{.uri = server_.url(target), .host = "home.test"});
    return ask(*upstreams_, request);
  }
  std::vector<std::string> requests() { return kept_.get(); }

 private:
  void serve(RawPeer& peer) {
    std::vector<std::string> requests;
    for (std::string text = peer.request(); !text.empty(); text = peer.request()) {
      requests.push_back(text.substr(0, text.find("\r\n\r\n")));
      kept_.set(requests);
      const std::string to = "/" + std::to_string(requests.size());
      peer.send(left_ == 0 ? kOk : answer_with("", "302 Found\r\nLocation: " + to));
      if (left_ > 0) --left_;
    }
  }
  unsigned left_;
  Kept<std::vector<std::string>> kept_;
  RawServer server_{[this](RawPeer& peer, unsigned) { serve(peer); }};
  std::unique_ptr<HttpUpstreams> upstreams_ = open();
};

TEST(HttpUpstreams, three_redirects_are_followed_and_not_four) {
  Redirecting three(3);
  EXPECT_EQ(three.ask_it().outcome, UpstreamOutcome::ok);
  const auto requests = three.requests();
  ASSERT_EQ(requests.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(requests[i].starts_with("GET /" + std::to_string(i) + "?info_hash=hhh"));
    EXPECT_NE(requests[i].find("\r\nHost: home.test\r\n"), std::string::npos);
  }
  Redirecting four(4);
  const auto result = four.ask_it();
  EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
  EXPECT_EQ(result.reason, "redirected more than 3 times");
  EXPECT_EQ(four.requests().size(), 4u);
}

TEST(HttpUpstreams, a_redirect_elsewhere_gets_its_own_host_and_the_query_that_it_names) {
  Kept<std::string> request;
  RawServer there([&](RawPeer& peer, unsigned) {
    request.set(peer.request());
    peer.send(kOk);
  });
  RawServer here([&](RawPeer& peer, unsigned) {
    peer.request();
    peer.send(answer_with("", "301 Moved\r\nLocation: " + there.url("/b?info_hash=x")));
  });
  auto wanted = request_to(here.url("/a"));
  wanted.upstream = std::make_shared<const UpstreamConfig>(
      UpstreamConfig{.uri = here.url("/a"), .host = "home.test"});
  EXPECT_EQ(ask(*open(), wanted).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(told(request.get()),
            "GET /b?info_hash=x HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(there.port()));
}

TEST(HttpUpstreams, a_redirect_to_a_socket_of_this_machine_is_not_followed) {
  const auto result = told_by(answer_with("", "302 Found\r\nLocation: unix:/run/a.sock:/"));
  EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
  EXPECT_EQ(result.reason, "the redirect leads to no http or https address");
}

TEST(HttpUpstreams, uris_that_are_not_http_are_unreachable) {
  const auto upstreams = open();
  for (const char* uri : {"", "udp://127.0.0.1:1/", "unix:/run/a.sock", "http://", "http://a b/"})
    EXPECT_EQ(ask(*upstreams, request_to(uri)).outcome, UpstreamOutcome::unreachable) << uri;
}

TEST(HttpUpstreams, a_certificate_that_nobody_trusts_is_unreachable) {
  const test::TempDir dir;
  const auto files = net::make_certificate(dir / "a", "IP:127.0.0.1");
  const auto other = net::make_certificate(dir / "b", "IP:127.0.0.1");
  const auto server = net::open_server(
      [](net::Exchange exchange) { exchange.reply({.body = "de"}); }, {.tls = files});
  const auto request = request_to("https://" + server->address() + "/announce");
  EXPECT_EQ(ask(*open({.ca_file = files.certificate}), request).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(ask(*open({.ca_file = other.certificate}), request).outcome,
            UpstreamOutcome::unreachable);
}

TEST(HttpUpstreams, calls_beyond_a_hosts_connections_wait_and_use_them_again) {
  const auto server =
      net::open_server([](net::Exchange exchange) { exchange.reply({.body = "de"}); });
  const auto upstreams = open({.connections_per_host_max = 2});
  Results results;
  for (int i = 0; i < 200; ++i)
    upstreams->announce(request_to(net::url_of(*server)), results.add());
  net::until([&] { return results.count() == 200; });
  for (const auto& result : results.all()) EXPECT_EQ(result.outcome, UpstreamOutcome::ok);
  EXPECT_LE(upstreams->stats().opened, 2u);
}

TEST(HttpUpstreams, the_end_ends_all_calls) {
  RawServer server([](RawPeer& peer, unsigned) { peer.wait_for_end(); });
  Results results;
  auto upstreams = open();
  for (int i = 0; i < 20; ++i) upstreams->announce(request_to(server.url()), results.add());
  net::until([&] { return server.accepted() > 0; });
  upstreams.reset();
  ASSERT_EQ(results.count(), 20u);
  for (const auto& result : results.all()) EXPECT_EQ(result.outcome, UpstreamOutcome::unreachable);
}

TEST(HttpUpstreams, names_are_kept_for_all_connections) {
  std::atomic<unsigned> asked = 0;
  RawServer server([](RawPeer& peer, unsigned) {
    peer.request();
    peer.send(kOk);
  });
  const auto upstreams = open({.look_up = [&](const std::string&, std::uint16_t port) {
    ++asked;
    return Result<std::vector<net::Address>>({*net::numeric_address("127.0.0.1", port)});
  }});
  const std::string uri = "http://a.test:" + std::to_string(server.port()) + "/";
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ask(*upstreams, request_to(uri)).outcome, UpstreamOutcome::ok);
  EXPECT_EQ(server.accepted(), 5u);
  EXPECT_EQ(asked, 1u);
}

TEST(HttpUpstreams, limits_of_zero_are_refused) {
  EXPECT_FALSE(HttpUpstreams::open({.connections_max = 0}));
  EXPECT_FALSE(HttpUpstreams::open({.ca_file = "/nowhere"}));
}

}  // namespace
}  // namespace sluice::tracker
