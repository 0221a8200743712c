// SPDX-License-Identifier: MIT
// How calls end before their answer: too late, cancelled, with their client or its loop.
#include "net/http_client.h"

#include <gtest/gtest.h>

#include <latch>

#include "net/loop.h"
#include "net/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::net {
namespace {

using namespace std::chrono_literals;

TEST(HttpClientEnd, a_call_that_takes_too_long_may_have_arrived) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  const ManualClock clock;
  const auto client = open_client({.clock = &clock});
  auto request = post(url_of(*server), "a");
  request.time = 20ms;
  Outcomes outcomes;
  client->call(request, outcomes.add());
  until([&] { return keeper.count() == 1; });
  clock.advance(20ms);
  until([&] { return outcomes.count() == 1; });
  EXPECT_EQ(outcomes.code(0), Code::commit_unknown);
  until([&] { return client->stats().connections == 0; });
}

TEST(HttpClientEnd, a_call_that_waits_too_long_was_never_sent) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  const auto client = open_client({.connections_per_host_max = 1});
  Outcomes outcomes;
  client->call(post(url_of(*server), "first"), outcomes.add());
  auto request = post(url_of(*server), "second");
  request.time = 20ms;
  EXPECT_EQ(client->call(request).error().code(), Code::deadline_exceeded);
  EXPECT_EQ(client->stats().waiting, 0u);
  until([&] { return keeper.count() == 1; });
  keeper.answer_one();
  until([&] { return outcomes.count() == 1; });
  EXPECT_EQ(outcomes.body(0), "first");
  EXPECT_EQ(server->stats().requests, 1u);
}

TEST(HttpClientEnd, a_call_without_time_is_not_sent) {
  const auto server = open_server();
  auto request = post(url_of(*server), "a");
  request.time = Duration(-1);
  EXPECT_EQ(open_client()->call(request).error().code(), Code::deadline_exceeded);
  EXPECT_EQ(server->stats().accepted, 0u);
}

TEST(HttpClientEnd, the_time_for_connecting_is_not_that_of_the_answer) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  const ManualClock clock;
  const auto client = open_client({.connections_per_host_max = 1,
                                   .connect_time = 5s,
                                   .call_time = 1h,
                                   .idle_time = 1h,
                                   .clock = &clock});
  Outcomes outcomes;
  client->call(post(url_of(*server), "first"), outcomes.add());
  until([&] { return keeper.count() == 1; });
  auto second = post(url_of(*server), "second");
  second.time = 20s;
  client->call(second, outcomes.add());
  until([&] { return client->stats().waiting == 1; });
  clock.advance(30s);
  until([&] { return outcomes.count() == 1; });
  EXPECT_EQ(outcomes.code(0), Code::deadline_exceeded);
  keeper.answer_one();
  until([&] { return outcomes.count() == 2; });
  EXPECT_EQ(outcomes.body(1), "first");
}

TEST(HttpClientEnd, deadlines_do_not_wait_for_the_loop_to_look_at_them) {
  // Looked at every Loop::kPeriod only, they would take longer than a test may.
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  const auto client = open_client();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(client->call({.url = url_of(*server), .time = 1ms}));
}

TEST(HttpClientEnd, a_call_can_be_cancelled_wherever_it_is) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  std::latch may_find(1);
  const auto client = open_client(
      {.connections_per_host_max = 1, .look_up = [&](const std::string&, std::uint16_t port) {
         may_find.wait();
         return Result<std::vector<Address>>({*numeric_address("127.0.0.1", port)});
       }});
  const std::string port = server->address().substr(server->address().rfind(':'));
  Outcomes outcomes;
  std::stop_source sent, waiting, connecting, before;
  before.request_stop();
  const auto call = [&](const std::string& url, const std::stop_source& stop) {
    client->call({.url = url, .stop = stop.get_token()}, outcomes.add());
  };
  call(url_of(*server), sent);
  call(url_of(*server), waiting);
  call("http://somewhere.test" + port, connecting);
  until([&] { return keeper.count() == 1 && client->stats().connections == 2; });
  call(url_of(*server), before);
  until([&] { return outcomes.count() == 1; });
  std::size_t count = 1;
  for (std::stop_source* const stop : {&waiting, &sent, &connecting}) {
    stop->request_stop();
    ++count;
    until([&] { return outcomes.count() == count; });
  }
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(outcomes.code(i), Code::cancelled);
  EXPECT_EQ(client->stats().connections, 0u);
  may_find.count_down();
}

TEST(HttpClientEnd, that_is_destroyed_ends_its_calls) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  Outcomes outcomes;
  {
    const auto client = open_client({.connections_per_host_max = 2});
    for (int i = 0; i < 10; ++i) client->call(post(url_of(*server), "a"), outcomes.add());
    until([&] { return keeper.count() == 2; });
  }
  ASSERT_EQ(outcomes.count(), 10u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(outcomes.code(i), Code::cancelled);
}

TEST(HttpClientEnd, runs_on_a_loop_that_it_is_given) {
  const auto server = open_server();
  Loop loop(system_clock());
  loop.start();
  Outcomes outcomes;
  {
    const auto client = open_client({.loop = &loop});
    EXPECT_EQ(client->call({.url = url_of(*server)})->status, 200u);
    client->call({.url = url_of(*server)}, outcomes.add());
  }
  EXPECT_EQ(outcomes.count(), 1u);
  const auto client = open_client({.loop = &loop});
  EXPECT_EQ(client->call({.url = url_of(*server)})->status, 200u);
  loop.stop();
  EXPECT_EQ(client->call({.url = url_of(*server)}).error().code(), Code::cancelled);
}

TEST(HttpClientEnd, calls_end_when_their_loop_does) {
  Keeper keeper;
  const auto server = open_server(keeper.handler());
  Loop loop(system_clock());
  loop.start();
  const auto client = open_client({.connections_per_host_max = 1, .loop = &loop});
  Outcomes outcomes;
  for (int i = 0; i < 3; ++i) client->call({.url = url_of(*server)}, outcomes.add());
  until([&] { return keeper.count() == 1; });
  loop.stop();
  ASSERT_EQ(outcomes.count(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outcomes.code(i), Code::cancelled);
}

}  // namespace
}  // namespace sluice::net
