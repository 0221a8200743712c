// SPDX-License-Identifier: MIT
// The client with the real server.
#include "net/http_client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <set>

#include "net/loop.h"
#include "net/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::net {
namespace {

using namespace std::chrono_literals;

TEST(HttpClient, sends_what_it_is_given) {
  const auto server = open_server();
  const auto client = open_client();
  EXPECT_EQ(client->call({.url = url_of(*server, "/a?b=c")})->body, "GET /a?b=c - ");
  auto answer = client->call({.method = "PUT",
                              .url = url_of(*server, "/x"),
                              .headers = {{"X-Mark", "here"}},
                              .body = "text"});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 200u);
  EXPECT_EQ(answer->body, "PUT /x here text");
  ASSERT_NE(answer->find("content-type"), nullptr);
  EXPECT_EQ(*answer->find("content-type"), "text/plain");
  EXPECT_EQ(client->call({.method = "HEAD", .url = url_of(*server)})->body, "");
  EXPECT_EQ(client->call({.method = "DELETE", .url = url_of(*server, "/d")})->body, "DELETE /d - ");
  EXPECT_EQ(server->stats().accepted, 1u);
}

TEST(HttpClient, any_status_is_an_answer) {
  const auto server = open_server([](Exchange exchange) {
    exchange.reply({.status = 302, .headers = {{"Location", "http://127.0.0.1:1/"}}});
  });
  const auto answer = open_client()->call({.url = url_of(*server)});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 302u);
}

TEST(HttpClient, large_bodies_go_both_ways) {
  const auto server = open_server(
      [](Exchange exchange) {
        std::string body = exchange.request().body;
        exchange.reply({.body = std::move(body)});
      },
      {.body_bytes_max = 8 << 20});
  std::string body(8 << 20, 'x');
  for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>(i / 1000);
  const auto client = open_client();
  for (int i = 0; i < 2; ++i) {
    const auto answer = client->call(post(url_of(*server), body));
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_TRUE(answer->body == body);
  }
  EXPECT_EQ(server->stats().accepted, 1u);
}

TEST(HttpClient, an_answer_may_come_before_all_of_the_request_was_sent) {
  const auto server = open_server(echo, {.body_bytes_max = 10});
  const auto answer = open_client()->call(post(url_of(*server), std::string(64 << 20, 'x')));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 413u);
}

TEST(HttpClient, speaks_over_a_unix_socket) {
  const test::TempDir dir;
  const auto server = open_server(echo, {.listen = "unix:" + (dir / "socket")});
  const auto client = open_client();
  EXPECT_EQ(client->call({.url = server->address() + ":/a"})->body, "GET /a - ");
  EXPECT_EQ(client->call({.url = "unix:" + (dir / "nobody")}).error().code(), Code::unavailable);
}

TEST(HttpClient, calls_beyond_a_hosts_limit_wait_in_order) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  const auto client = open_client({.connections_per_host_max = 2});
  Outcomes outcomes;
  constexpr std::size_t kCalls = 10;
  for (std::size_t i = 0; i < kCalls; ++i)
    client->call(post(url_of(*server), std::to_string(i)), outcomes.add());
  until([&] { return keeper.count() == 2 && client->stats().waiting == kCalls - 2; });
  // One connection at a time goes on, so that answers come in the order of requests.
  for (std::size_t i = 0; i < kCalls; ++i) {
    until([&] { return keeper.count() == std::min<std::size_t>(2, kCalls - i); });
    EXPECT_EQ(client->stats().connections, 2u);
    keeper.answer_one();
    until([&] { return outcomes.count() == i + 1; });
  }
  std::set<std::string> first = {outcomes.body(0), outcomes.body(1)};
  EXPECT_EQ(first, (std::set<std::string>{"0", "1"}));
  for (std::size_t i = 2; i < kCalls; ++i) EXPECT_EQ(outcomes.body(i), std::to_string(i));
  EXPECT_EQ(server->stats().accepted, 2u);
}

TEST(HttpClient, calls_beyond_the_limit_of_all_wait_in_order_whatever_their_host) {
  Keeper keeper;
  const auto first = open_server(keeper.handler());
  const auto second = open_server(keeper.handler());
  const auto client = open_client({.connections_max = 1});
  Outcomes outcomes;
  for (int i = 0; i < 6; ++i)
    client->call(post(url_of(i % 2 == 0 ? *first : *second), std::to_string(i)), outcomes.add());
  for (std::size_t i = 0; i < 6; ++i) {
    until([&] { return keeper.count() == 1; });
    EXPECT_EQ(client->stats().connections, 1u);
    keeper.answer_one();
    until([&] { return outcomes.count() == i + 1; });
    EXPECT_EQ(outcomes.body(i), std::to_string(i));
  }
}

TEST(HttpClient, a_call_too_many_is_refused_at_once) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  const auto client = open_client({.connections_per_host_max = 1, .waiting_max = 2});
  Outcomes outcomes;
  for (int i = 0; i < 3; ++i) client->call(post(url_of(*server), "a"), outcomes.add());
  EXPECT_EQ(client->call(post(url_of(*server), "b")).error().code(), Code::limit_exceeded);
  for (std::size_t i = 0; i < 3; ++i) {
    until([&] { return keeper.count() == 1; });
    keeper.answer_one();
  }
  until([&] { return outcomes.count() == 3; });
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outcomes.body(i), "a");
}

TEST(HttpClient, a_connection_that_nobody_needs_is_closed) {
  const auto server = open_server();
  const ManualClock clock;
  const auto client = open_client({.idle_time = 10s, .clock = &clock});
  ASSERT_TRUE(client->call({.url = url_of(*server)}));
  until([&] { return client->stats().idle == 1; });
  clock.advance(10s);
  until([&] { return client->stats().connections == 0; });
  until([&] { return server->stats().connections == 0; });
  ASSERT_TRUE(client->call({.url = url_of(*server)}));
  EXPECT_EQ(client->stats().opened, 2u);
}

TEST(HttpClient, a_connection_that_the_server_has_closed_is_not_used) {
  const auto server = open_server(echo, {.idle_time = 1ms});
  const auto client = open_client();
  for (unsigned i = 1; i <= 3; ++i) {
    // A request that may not be sent twice must not meet a dead connection.
    ASSERT_TRUE(client->call(post(url_of(*server), "a")));
    until([&] { return client->stats().connections == 0; });
    EXPECT_EQ(client->stats().opened, i);
  }
  EXPECT_EQ(client->stats().repeated, 0u);
}

TEST(HttpClient, a_connection_that_has_just_been_closed_is_not_used_either) {
  const test::TempDir dir;
  const std::string address = "unix:" + (dir / "socket");
  auto server = open_server(echo, {.listen = address});
  Loop loop(system_clock());
  loop.start();
  const auto client = open_client({.loop = &loop});
  ASSERT_TRUE(client->call({.url = address}));
  until([&] { return client->stats().idle == 1; });
  // What is posted together runs without the loop looking at its sockets in between.
  std::latch together(1);
  loop.post([&] { together.wait(); });
  loop.post([&] {
    server.reset();
    server = open_server(echo, {.listen = address});
  });
  Outcomes outcomes;
  client->call(post(address, "a"), outcomes.add());
  together.count_down();
  until([&] { return outcomes.count() == 1; });
  EXPECT_EQ(outcomes.code(0), Code::ok);
  EXPECT_EQ(client->stats().opened, 2u);
}

TEST(HttpClient, a_callback_may_make_the_next_call) {
  const auto server = open_server();
  const auto client = open_client({.connections_max = 1});
  std::latch done(1);
  int left = 100;
  std::function<void(Result<ClientResponse>)> again = [&](const Result<ClientResponse>& answer) {
    EXPECT_TRUE(answer);
    if (--left == 0) return done.count_down();
    client->call({.url = url_of(*server)}, again);
  };
  client->call({.url = url_of(*server)}, again);
  done.wait();
  EXPECT_EQ(server->stats().accepted, 1u);
}

TEST(HttpClient, serves_many_threads) {
  const auto server = open_server();
  const auto client = open_client({.connections_max = 4, .connections_per_host_max = 4});
  std::atomic<unsigned> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 50; ++i) {
          const std::string target = "/" + std::to_string(thread) + "/" + std::to_string(i);
          const auto answer = client->call({.url = url_of(*server, target)});
          if (answer && answer->body == "GET " + target + " - ") ++good;
        }
      });
  }
  EXPECT_EQ(good, 400u);
  EXPECT_LE(server->stats().accepted, 4u);
}

TEST(HttpClient, what_makes_no_sense_is_refused_before_anything_is_sent) {
  const auto server = open_server();
  const auto client = open_client();
  const std::string url = url_of(*server);
  const std::string nul("a\0b", 3);
  for (const ClientRequest& request :
       std::vector<ClientRequest>{{.url = "127.0.0.1"},
                                  {.url = url + "\r\nX: y"},
                                  {.method = "", .url = url},
                                  {.method = "GET /x HTTP/1.1\r\nX:", .url = url},
                                  {.method = "CONNECT", .url = url},
                                  {.url = url, .headers = {{"", "a"}}},
                                  {.url = url, .headers = {{"A B", "a"}}},
                                  {.url = url, .headers = {{"A:", "a"}}},
                                  {.url = url, .headers = {{"A\r\nB", "a"}}},
                                  {.url = url, .headers = {{"A", "a\r\nB: c"}}},
                                  {.url = url, .headers = {{"A", "a\nB: c"}}},
                                  {.url = url, .headers = {{"A", "a\rB"}}},
                                  {.url = url, .headers = {{"A", nul}}},
                                  {.url = url, .headers = {{nul, "a"}}},
                                  {.url = url, .headers = {{"Content-Length", "5"}}},
                                  {.url = url, .headers = {{"transfer-encoding", "chunked"}}},
                                  {.url = url, .headers = {{"HOST", "b"}}}})
    EXPECT_EQ(status_of(client->call(request)).code(), Code::invalid_argument);
  EXPECT_EQ(server->stats().accepted, 0u);
  EXPECT_EQ(HttpClient::open({.connections_max = 0}).error().code(), Code::invalid_argument);
  EXPECT_EQ(HttpClient::open({.connections_per_host_max = 0}).error().code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace sluice::net
