// SPDX-License-Identifier: MIT
// The client with servers that do not behave, and with addresses that lead nowhere.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <latch>
#include <optional>

#include "net/http_client.h"
#include "net/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::net {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What a GET of it comes to if the server sends this and then ends the connection.
Result<ClientResponse> answer_to(std::string_view text, HttpClientOptions options = {}) {
  RawServer server([&](RawPeer& peer, unsigned) {
    peer.request();
    peer.send(text);
  });
  return open_client(std::move(options))->call({.url = server.url()});
}

TEST(HttpClientRaw, answers_that_are_none_are_failures) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += "HTTP/1.1 100 Continue\r\n\r\n";
  for (const std::string& text :
       {std::string(""), std::string("garbage"), std::string("\x15\x03\x01\0\2\2\x16", 7),
        std::string("SSH-2.0-OpenSSH\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\nContent-Le"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
        "HTTP/1.1 200 OK\r\n" + std::string(20'000, 'x'), chunked + "5\r\nhel",
        chunked + "5\r\nhello\r\n", chunked + "fffffffffffffffff\r\n", chunked + "5\r\nhello!\r\n",
        chunked + "-5\r\n", flood}) {
    const auto answer = answer_to(text);
    ASSERT_FALSE(answer) << text.substr(0, 100);
    EXPECT_EQ(answer.error().code(), Code::commit_unknown);
    EXPECT_NE(answer.error().message().find("http://127.0.0.1:"), std::string::npos);
  }
}

TEST(HttpClientRaw, the_host_field_can_say_something_else_than_the_url) {
  RawServer server([](RawPeer& peer, unsigned) {
    for (std::string text = peer.request(); !text.empty(); text = peer.request())
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" +
                text);
  });
  const auto client = open_client();
  const std::string usual = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  EXPECT_EQ(client->call({.url = server.url()})->body, "GET / HTTP/1.1\r\n" + usual + "\r\n");
  EXPECT_EQ(client->call({.url = server.url(), .host = "[2001:db8::1]:80"})->body,
            "GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n");
  EXPECT_EQ(client->call({.url = server.url(), .host = "Other_1.test"})->body,
            "GET / HTTP/1.1\r\nHost: Other_1.test\r\n\r\n");
  EXPECT_EQ(server.accepted(), 1u);
  for (const char* wrong : {"a b", "a\r\nX: y", "a/b", "user@a", "\xc3\xa4"})
    EXPECT_EQ(status_of(client->call({.url = server.url(), .host = wrong})).code(),
              Code::invalid_argument)
        << wrong;
}

TEST(HttpClientRaw, limits_of_an_answer_hold) {
  const std::string body(100, 'x');
  const std::string sized = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + body;
  const std::string open_ended = "HTTP/1.1 200 OK\r\n\r\n" + body;
  for (const std::string& text : {sized, open_ended}) {
    EXPECT_EQ(answer_to(text, {.answer = {.body_bytes_max = 100}})->body, body);
    const auto refused = answer_to(text, {.answer = {.body_bytes_max = 99}});
    EXPECT_EQ(status_of(refused).code(), Code::commit_unknown);
  }
}

TEST(HttpClientRaw, a_head_without_end_is_given_up) {
  RawServer server([](RawPeer& peer, unsigned) {
    peer.request();
    while (peer.send("HTTP/1.1 200 OK\r\n" + std::string(4096, 'x'))) {
    }
  });
  EXPECT_EQ(status_of(open_client()->call({.url = server.url()})).code(), Code::commit_unknown);
}

TEST(HttpClientRaw, an_answer_that_trickles_ends_with_the_calls_time) {
  std::latch begun(1);
  std::latch over(1);
  RawServer server([&](RawPeer& peer, unsigned) {
    peer.request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    begun.count_down();
    while (!over.try_wait() && peer.send("x")) std::this_thread::yield();
  });
  const ManualClock clock;
  const auto client = open_client({.clock = &clock});
  Outcomes outcomes;
  client->call({.url = server.url(), .time = 50ms}, outcomes.add());
  begun.wait();
  clock.advance(50ms);
  until([&] { return outcomes.count() == 1; });
  over.count_down();
  EXPECT_EQ(outcomes.code(0), Code::commit_unknown);
}

TEST(HttpClientRaw, a_connection_that_is_reset_within_the_body_is_a_failure) {
  std::latch seen(1);
  RawServer server([&](RawPeer& peer, unsigned) {
    peer.request();
    peer.send("HTTP/1.1 200 OK\r\n\r\nsome");
    seen.wait();
    peer.reset();
  });
  const auto client = open_client();
  std::optional<Result<ClientResponse>> answer;
  std::latch done(1);
  client->call({.url = server.url()}, [&](Result<ClientResponse> result) {
    answer = std::move(result);
    done.count_down();
  });
  until([&] { return server.accepted() == 1; });
  seen.count_down();
  done.wait();
  EXPECT_EQ(status_of(*answer).code(), Code::commit_unknown);
}

TEST(HttpClientRaw, a_connection_with_more_than_the_answer_is_not_used_again) {
  RawServer server([](RawPeer& peer, unsigned) {
    while (!peer.request().empty()) peer.send(std::string(kOk) + "HTTP/1.1 200 OK\r\n");
  });
  const auto client = open_client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client->call({.url = server.url()})->body, "ok");
  EXPECT_EQ(server.accepted(), 3u);
}

TEST(HttpClientRaw, what_comes_while_a_connection_rests_ends_it) {
  std::latch rested(1);
  RawServer server([&](RawPeer& peer, unsigned) {
    peer.request();
    peer.send(kOk);
    rested.wait();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse");
    peer.wait_for_end();
  });
  const auto client = open_client();
  EXPECT_EQ(client->call({.url = server.url()})->body, "ok");
  until([&] { return client->stats().idle == 1; });
  rested.count_down();
  until([&] { return client->stats().connections == 0; });
  EXPECT_EQ(client->call({.url = server.url()})->body, "ok");
}

/// Answers the first request of its first connection, and then ends it after the second came.
RawServer::Serve breaks_the_second_time(std::string_view before_the_end = "") {
  return [before_the_end](RawPeer& peer, unsigned number) {
    peer.request();
    peer.send(kOk);
    if (number == 0) {
      peer.request();
      peer.send(before_the_end);
    } else {
      peer.wait_for_end();
    }
  };
}

TEST(HttpClientRaw, what_may_be_sent_twice_survives_a_connection_that_breaks) {
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE"}) {
    RawServer server(breaks_the_second_time());
    const auto client = open_client();
    ASSERT_TRUE(client->call({.url = server.url()}));
    const auto answer = client->call({.method = method, .url = server.url()});
    ASSERT_TRUE(answer) << method << ": " << answer.error().message();
    EXPECT_EQ(client->stats().repeated, 1u);
    EXPECT_EQ(server.accepted(), 2u);
  }
  RawServer server(breaks_the_second_time());
  const auto client = open_client();
  ASSERT_TRUE(client->call({.url = server.url()}));
  EXPECT_TRUE(client->call({.method = "POST", .url = server.url(), .repeatable = true}));
  EXPECT_EQ(server.accepted(), 2u);
}

TEST(HttpClientRaw, what_may_not_be_sent_twice_is_not) {
  RawServer server(breaks_the_second_time());
  const auto client = open_client();
  ASSERT_TRUE(client->call({.url = server.url()}));
  const auto answer = client->call({.method = "POST", .url = server.url()});
  EXPECT_EQ(status_of(answer).code(), Code::commit_unknown);
  EXPECT_EQ(server.accepted(), 1u);
}

TEST(HttpClientRaw, nothing_is_sent_twice_once_an_answer_has_begun) {
  RawServer server(breaks_the_second_time("H"));
  const auto client = open_client();
  ASSERT_TRUE(client->call({.url = server.url()}));
  EXPECT_EQ(status_of(client->call({.url = server.url()})).code(), Code::commit_unknown);
  EXPECT_EQ(server.accepted(), 1u);
}

TEST(HttpClientRaw, nothing_is_sent_a_third_time) {
  std::atomic<int> requests = 0;
  RawServer server([&](RawPeer& peer, unsigned number) {
    ++requests;
    peer.request();
    if (number > 0) return;
    peer.send(kOk);
    ++requests;
    peer.request();
  });
  const auto client = open_client();
  ASSERT_TRUE(client->call({.url = server.url()}));
  EXPECT_EQ(status_of(client->call({.url = server.url()})).code(), Code::commit_unknown);
  EXPECT_EQ(server.accepted(), 2u);
  // Nor a second time on a connection that was new.
  EXPECT_EQ(status_of(client->call({.url = server.url()})).code(), Code::commit_unknown);
  EXPECT_EQ(server.accepted(), 3u);
  EXPECT_EQ(requests, 4);
}

TEST(HttpClientRaw, a_host_that_is_not_there_is_unavailable) {
  std::uint16_t port = 0;
  {
    const RawServer gone([](RawPeer&, unsigned) {});
    port = gone.port();
  }
  const auto refused =
      open_client()->call({.url = "http://127.0.0.1:" + std::to_string(port) + "/secret?key=1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_NE(refused.error().message().find("http://127.0.0.1:" + std::to_string(port)),
            std::string::npos);
  EXPECT_EQ(refused.error().message().find("secret"), std::string::npos);
  const auto unknown = open_client()->call({.url = "http://nobody.invalid/"});
  EXPECT_EQ(status_of(unknown).code(), Code::unavailable);
}

TEST(HttpClientRaw, a_name_without_an_address_is_unavailable) {
  const auto client = open_client({.look_up = [](const std::string&, std::uint16_t) {
    return Result<std::vector<Address>>(std::vector<Address>{});
  }});
  EXPECT_EQ(status_of(client->call({.url = "http://none.test/"})).code(), Code::unavailable);
}

TEST(HttpClientRaw, a_unix_socket_without_room_is_unavailable) {
  const test::TempDir dir;
  const Address address = unix_address(dir / "full").value();
  const Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listening.get(), address.raw(), address.bytes), 0);
  ASSERT_EQ(::listen(listening.get(), 0), 0);
  const Descriptor first(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(first.get(), address.raw(), address.bytes), 0);
  EXPECT_EQ(status_of(open_client()->call({.url = "unix:" + (dir / "full")})).code(),
            Code::unavailable);
}

TEST(HttpClientRaw, addresses_are_tried_one_after_the_other) {
  RawServer server([](RawPeer& peer, unsigned) {
    peer.request();
    peer.send(kOk);
  });
  const auto client = open_client({.look_up = [](const std::string&, std::uint16_t port) {
    std::vector<Address> both = {*numeric_address("127.0.0.2", port),
                                 *numeric_address("127.0.0.1", port)};
    return Result<std::vector<Address>>(std::move(both));
  }});
  const auto answer =
      client->call({.url = "http://two.test:" + std::to_string(server.port()) + "/"});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "ok");
}

TEST(HttpClientRaw, looking_up_a_name_may_take_no_longer_than_connecting) {
  std::latch over(1);
  std::atomic<std::size_t> begun = 0;
  const auto look_up = [&](const std::string&, std::uint16_t) {
    ++begun;
    over.wait();
    return Result<std::vector<Address>>(std::vector<Address>{});
  };
  const auto client = open_client({.connect_time = 20ms, .look_up = look_up});
  // More than there are threads to look names up.
  for (std::size_t i = 0; i < Resolver::kThreadsMax + 2; ++i)
    EXPECT_EQ(status_of(client->call({.url = "http://slow.test/"})).code(), Code::unavailable);
  EXPECT_EQ(client->stats().connections, 0u);
  // A call that has less time than connecting may take.
  const auto patient = open_client({.look_up = [&](const std::string&, std::uint16_t) {
    over.wait();
    return Result<std::vector<Address>>(std::vector<Address>{});
  }});
  EXPECT_EQ(status_of(patient->call({.url = "http://slow.test/", .time = 10ms})).code(),
            Code::deadline_exceeded);
  over.count_down();
  // Nobody looks for what nobody waits for any more.
  EXPECT_EQ(status_of(client->call({.url = "http://slow.test/"})).code(), Code::unavailable);
  EXPECT_LE(begun, Resolver::kThreadsMax + 1);
}

TEST(HttpClientRaw, addresses_that_are_not_public_can_be_refused_whatever_the_name) {
  RawServer server([](RawPeer&, unsigned) {});
  const auto client = open_client({.public_addresses_only = true, .look_up = everything_is_here()});
  const std::string port = ":" + std::to_string(server.port()) + "/";
  for (const std::string& url :
       {"http://127.0.0.1" + port, "http://innocent.test" + port, "http://[::1]" + port,
        "http://[::ffff:127.0.0.1]" + port, std::string("http://10.0.0.1/"),
        std::string("http://169.254.169.254/"), std::string("unix:/run/a.sock")})
    EXPECT_EQ(status_of(client->call({.url = url})).code(), Code::permission_denied) << url;
  EXPECT_EQ(server.accepted(), 0u);
}

TEST(HttpClientRaw, many_calls_that_fail_one_after_the_other_all_end) {
  std::latch may_find(1);
  const auto look_up = [&](const std::string&, std::uint16_t port) {
    may_find.wait();
    return Result<std::vector<Address>>({*numeric_address("127.0.0.1", port)});
  };
  const auto client = open_client({.connections_max = 1,
                                   .waiting_max = 100'000,
                                   .public_addresses_only = true,
                                   .look_up = look_up});
  std::atomic<unsigned> refused = 0;
  const auto count = [&](const Result<ClientResponse>& answer) {
    if (status_of(answer).code() == Code::permission_denied) ++refused;
  };
  // The first takes the only connection, and each that fails makes way for the next.
  constexpr unsigned kCalls = 50'000;
  client->call({.url = "http://slow.test/"}, count);
  for (unsigned i = 1; i < kCalls; ++i) client->call({.url = "http://127.0.0.1:1/"}, count);
  until([&] { return client->stats().waiting == kCalls - 1; });
  may_find.count_down();
  until([&] { return refused == kCalls; });
}

}  // namespace
}  // namespace sluice::net
