// SPDX-License-Identifier: MIT
#include "net/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sluice/clock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <charconv>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/descriptor.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::net {
namespace {

/// A client without any idea of HTTP but where an answer ends.
class Client {
 public:
  explicit Client(const std::string& address) {
    if (address.starts_with("unix:")) {
      sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
      address.copy(where.sun_path, sizeof where.sun_path - 1, 5);
      connect(&where, sizeof where);
    } else {
      sockaddr_in where{};
      where.sin_family = AF_INET;
      where.sin_port =
          htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
      where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      connect(&where, sizeof where);
    }
  }

  void send(std::string_view text) const {
    SLUICE_CHECK(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(text.size()));
  }
  /// The next answer, head and body; "(end)" if the server has closed the connection.
  std::string answer() {
    for (;;) {
      if (const std::size_t head = head_bytes(text_); head != 0) {
        const std::size_t size = head + parse_response_head(text_.substr(0, head))->body_bytes;
        if (text_.size() >= size) {
          const std::string whole = text_.substr(0, size);
          text_.erase(0, size);
          return whole;
        }
      }
      if (!more()) return "(end)";
    }
  }
  unsigned status() { return static_cast<unsigned>(std::atoi(answer().substr(9, 3).c_str())); }
  std::string body() {
    const std::string whole = answer();
    return whole.substr(head_bytes(whole));
  }
  bool ended() {
    while (more()) {
    }
    return true;
  }
  /// All that comes until the server closes the connection.
  std::string rest() {
    ended();
    return std::exchange(text_, {});
  }
  void finish_writing() const { ::shutdown(socket_.get(), SHUT_WR); }

 private:
  void connect(const void* where, socklen_t bytes) {
    const auto* address = static_cast<const sockaddr*>(where);
    socket_.reset(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    SLUICE_CHECK(::connect(socket_.get(), address, bytes) == 0);
  }
  bool more() {
    pollfd wanted{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const auto patience_ms = static_cast<int>(test::patience() / std::chrono::milliseconds(1));
    SLUICE_CHECK(::poll(&wanted, 1, patience_ms) == 1);
    char bytes[65536];
    const ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    text_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  Descriptor socket_;
  std::string text_;
};

std::string post(std::string_view body, std::string_view fields = "") {
  return "POST /echo HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

void echo(Exchange exchange) {
  std::string body = exchange.request().body;
  exchange.reply({.content_type = "text/plain", .body = std::move(body)});
}

std::unique_ptr<HttpServer> serve(HttpServerOptions options = {}, HttpHandler handler = echo) {
  if (options.listen.empty()) options.listen = "127.0.0.1:0";
  if (options.loops == 0) options.loops = 2;
  return HttpServer::open(std::move(options), std::move(handler)).value();
}

TEST(HttpServer, answers_one_request_after_the_other_on_a_connection) {
  const auto server = serve();
  Client client(server->address());
  for (const char* body : {"one", "", "three"}) {
    client.send(post(body));
    EXPECT_EQ(client.body(), body);
  }
  EXPECT_EQ(server->stats().accepted, 1u);
  EXPECT_EQ(server->stats().requests, 3u);
}

TEST(HttpServer, requests_that_come_together_are_answered_in_order) {
  const auto server = serve();
  Client client(server->address());
  std::string all;
  for (int i = 0; i < 100; ++i) all += post(std::to_string(i));
  client.send(all);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.body(), std::to_string(i));
}

TEST(HttpServer, a_request_may_come_byte_by_byte) {
  const auto server = serve();
  Client client(server->address());
  for (const char byte : post("hello")) client.send({&byte, 1});
  EXPECT_EQ(client.body(), "hello");
}

TEST(HttpServer, a_body_may_be_chunked) {
  const auto server = serve();
  Client client(server->address());
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  client.send(head + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n" + post("next"));
  EXPECT_EQ(client.body(), "hello world");
  EXPECT_EQ(client.body(), "next");
  client.send(head + "zz\r\n");
  EXPECT_EQ(client.status(), 400u);
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, large_bodies_go_both_ways) {
  const auto server = serve();
  Client client(server->address());
  std::string body(2 * 1024 * 1024, 'x');
  for (std::size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>(i / 1000);
  std::jthread sending([&] { client.send(post(body)); });
  EXPECT_EQ(client.body(), body);
}

TEST(HttpServer, limits_hold_at_their_edge) {
  const auto server = serve({.head_bytes_max = 200, .body_bytes_max = 10});
  Client client(server->address());
  client.send(post("0123456789"));
  EXPECT_EQ(client.status(), 200u);
  client.send(post("0123456789a"));
  EXPECT_EQ(client.status(), 413u);
  EXPECT_TRUE(client.ended());
  const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  Client edge(server->address());
  edge.send(begin + std::string(200 - begin.size() - 4, 'x') + "\r\n\r\n");
  EXPECT_EQ(edge.status(), 200u);
  edge.send(begin + std::string(200 - begin.size() - 3, 'x') + "\r\n\r\n");
  EXPECT_EQ(edge.status(), 431u);
  Client chunked(server->address());
  chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n");
  EXPECT_EQ(chunked.status(), 413u);
}

TEST(HttpServer, what_is_malformed_is_refused_and_the_connection_ends) {
  const auto server = serve();
  for (const char* bad : {"\x16\x03\x01\x02garbage\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
                          "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"}) {
    Client client(server->address());
    client.send(bad);
    client.send(post("after"));
    EXPECT_EQ(client.status(), 400u) << bad;
    EXPECT_TRUE(client.ended());
  }
  EXPECT_EQ(server->stats().malformed, 3u);
  EXPECT_EQ(server->stats().requests, 0u);
}

TEST(HttpServer, an_answer_may_come_later_from_another_thread) {
  std::optional<Exchange> waiting;
  std::atomic<bool> here = false;
  const auto server = serve({}, [&](Exchange exchange) {
    waiting.emplace(std::move(exchange));
    here = true;
    here.notify_all();
  });
  Client client(server->address());
  client.send(post("a"));
  here.wait(false);
  waiting->reply({.status = 202, .body = "{}"});
  EXPECT_EQ(client.status(), 202u);
}

TEST(HttpServer, a_handler_that_forgets_to_answer_is_500) {
  const auto server = serve({}, [](Exchange) {});
  Client client(server->address());
  client.send(post("a"));
  EXPECT_EQ(client.status(), 500u);
}

TEST(HttpServer, a_body_may_come_in_parts_and_ends_with_the_connection) {
  constexpr int kParts = 100;
  // Each is sent from another thread when the one before is out.
  std::vector<std::jthread> threads;
  std::function<void(Exchange, int)> send = [&](Exchange exchange, int part) {
    HttpResponse response{.body = std::to_string(part) + ";"};
    if (part < kParts)
      response.more = [&, part](Exchange next) {
        const auto held = std::make_shared<Exchange>(std::move(next));
        threads.emplace_back([&, held, part] { send(std::move(*held), part + 1); });
      };
    exchange.reply(std::move(response));
  };
  const auto server = serve({}, [&](Exchange exchange) { send(std::move(exchange), 1); });
  Client client(server->address());
  client.send(post("") + post("never read"));
  const std::string whole = client.rest();
  std::string expected;
  for (int part = 1; part <= kParts; ++part) expected += std::to_string(part) + ";";
  const std::size_t head = head_bytes(whole);
  EXPECT_EQ(whole.substr(head), expected);
  EXPECT_EQ(whole.substr(0, head).find("Content-Length"), std::string::npos);
  EXPECT_NE(whole.substr(0, head).find("Connection: close"), std::string::npos);
  EXPECT_EQ(server->stats().requests, 1u);
}

TEST(HttpServer, a_part_is_asked_for_when_the_one_before_was_taken) {
  std::atomic<int> asked = 0;
  std::function<void(Exchange)> endless = [&](Exchange exchange) {
    ++asked;
    exchange.reply({.body = std::string(1 << 20, 'x'), .more = endless});
  };
  const auto server = serve({.write_time = std::chrono::milliseconds(200)}, endless);
  Client client(server->address());
  client.send(post(""));
  // The client takes nothing: what fits into the buffers of the kernel is all that is made, and the
  // connection ends.
  while (asked == 0 || server->stats().connections != 0) std::this_thread::yield();
  EXPECT_LT(asked, 20);
}

TEST(HttpServer, a_client_that_waits_to_be_told_is_told_to_go_on) {
  const auto server = serve();
  Client client(server->address());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.answer(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_EQ(client.body(), "ab");
}

TEST(HttpServer, a_connection_is_closed_when_asked) {
  const auto server = serve();
  Client client(server->address());
  client.send(post("a", "Connection: close\r\n"));
  EXPECT_NE(client.answer().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, a_client_that_asked_for_the_end_is_not_waited_for) {
  const ManualClock clock;  // No time passes, so that no deadline ends anything.
  const auto server = serve({.clock = &clock});
  Client client(server->address());
  client.send(post("a", "Connection: close\r\n"));
  EXPECT_EQ(client.body(), "a");
  // It still has its end open.
  while (server->stats().connections > 0) std::this_thread::yield();
}

TEST(HttpServer, a_head_or_a_body_that_takes_too_long_ends_the_connection) {
  using std::chrono::milliseconds;
  const auto server = serve({.head_time = milliseconds(1), .body_time = milliseconds(1)});
  Client head(server->address());
  head.send("GET / HTTP");
  EXPECT_TRUE(head.ended());
  EXPECT_EQ(server->stats().too_slow, 1u);
  const auto patient = serve({.body_time = milliseconds(1)});
  Client body(patient->address());
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
  EXPECT_TRUE(body.ended());
  EXPECT_EQ(patient->stats().too_slow, 1u);
}

TEST(HttpServer, an_idle_connection_ends) {
  const auto server = serve({.idle_time = std::chrono::milliseconds(1)});
  Client client(server->address());
  client.send(post("a"));
  EXPECT_EQ(client.body(), "a");
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, an_answer_that_nobody_takes_ends_the_connection) {
  const auto server = serve({.write_time = std::chrono::milliseconds(1)}, [](Exchange exchange) {
    exchange.reply({.body = std::string(64 << 20, 'x')});
  });
  Client client(server->address());
  client.send(post("a"));
  while (server->stats().too_slow == 0) std::this_thread::yield();
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, connections_beyond_a_limit_are_refused) {
  const auto server = serve({.connections_max = 2});
  Client first(server->address());
  Client second(server->address());
  first.send(post("a"));
  second.send(post("a"));
  EXPECT_EQ(first.status(), 200u);
  EXPECT_EQ(second.status(), 200u);
  Client third(server->address());
  EXPECT_TRUE(third.ended());
  EXPECT_EQ(server->stats().refused, 1u);
}

TEST(HttpServer, a_client_that_left_is_noticed) {
  std::optional<Exchange> waiting;
  std::atomic<bool> here = false;
  const auto server = serve({}, [&](Exchange exchange) {
    waiting.emplace(std::move(exchange));
    here = true;
    here.notify_all();
  });
  {
    Client client(server->address());
    client.send(post("a"));
    here.wait(false);
    EXPECT_FALSE(waiting->is_gone());
  }
  while (!waiting->is_gone()) std::this_thread::yield();
  waiting->reply({});
}

TEST(HttpServer, draining_lets_answers_out_and_accepts_no_more) {
  std::optional<Exchange> waiting;
  std::atomic<bool> here = false;
  const auto server = serve({}, [&](Exchange exchange) {
    if (exchange.request().body == "now") return exchange.reply({});
    waiting.emplace(std::move(exchange));
    here = true;
    here.notify_all();
  });
  Client idle(server->address());
  idle.send(post("now"));
  EXPECT_EQ(idle.status(), 200u);
  Client busy(server->address());
  busy.send(post("later"));
  here.wait(false);
  std::jthread draining([&] { EXPECT_TRUE(server->drain(std::chrono::minutes(1))); });
  EXPECT_TRUE(idle.ended());
  waiting->reply({.body = "last"});
  EXPECT_NE(busy.answer().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(busy.ended());
}

TEST(HttpServer, what_is_not_answered_in_time_is_cut_off) {
  std::optional<Exchange> waiting;
  std::atomic<bool> here = false;
  const auto server = serve({}, [&](Exchange exchange) {
    waiting.emplace(std::move(exchange));
    here = true;
    here.notify_all();
  });
  Client client(server->address());
  client.send(post("a"));
  here.wait(false);
  EXPECT_FALSE(server->drain(std::chrono::milliseconds(1)));
  EXPECT_TRUE(client.ended());
  waiting->reply({});
}

TEST(HttpServer, listens_on_a_unix_socket) {
  const test::TempDir dir;
  const std::string path = "unix:" + (dir / "socket");
  for (int i = 0; i < 2; ++i) {  // The second finds the file of the first.
    const auto server = serve({.listen = path});
    Client client(server->address());
    client.send(post("a"));
    EXPECT_EQ(client.body(), "a");
    struct stat info{};
    EXPECT_EQ(::stat((dir / "socket").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_EQ(HttpServer::open({.listen = path}, echo).error().code(), Code::unavailable);
  }
}

TEST(HttpServer, addresses_that_make_no_sense_are_refused) {
  for (const char* bad : {"", "localhost:1", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "[::1]",
                          "::1:80", "unix:"})
    EXPECT_EQ(HttpServer::open({.listen = bad}, echo).error().code(), Code::invalid_argument)
        << bad;
  const auto server = serve();
  EXPECT_EQ(HttpServer::open({.listen = server->address()}, echo).error().code(),
            Code::unavailable);
}

}  // namespace
}  // namespace sluice::net
