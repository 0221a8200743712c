// SPDX-License-Identifier: MIT
#include "net/udp_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/mutex.h"
#include "net/listen.h"
#include "net/testing.h"

namespace sluice::net {
namespace {

/// A client of one server.
class Asker {
 public:
  explicit Asker(const std::string& server, const std::string& host = "127.0.0.1") {
    const auto port = static_cast<std::uint16_t>(std::stoi(server.substr(server.rfind(':') + 1)));
    const Address to = *numeric_address(host, port);
    socket_.reset(::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // Connected: takes packets from the address that it asked, and from no other.
    EXPECT_EQ(connect(socket_.get(), to.raw(), to.bytes), 0);
  }
  void send(std::string_view text) const {
    EXPECT_EQ(::send(socket_.get(), text.data(), text.size(), 0), std::ssize(text));
  }
  std::string receive() const {
    std::string text(4096, '\0');
    const ssize_t size = recv(socket_.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }
  bool has_answer() const {
    pollfd waiting{socket_.get(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }
  std::string ask(std::string_view text) const {
    send(text);
    return receive();
  }

 private:
  Descriptor socket_;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t write(std::string_view text, std::span<std::byte> into) {
  std::memcpy(into.data(), text.data(), text.size());
  return text.size();
}

std::size_t echo(std::span<const std::byte> packet, const UdpPath&, std::span<std::byte> answer) {
  const std::string text = text_of(packet);
  return text == "silence" ? 0 : write(text.substr(0, answer.size()), answer);
}

std::unique_ptr<UdpServer> open_server(UdpServerOptions options, UdpServer::Handler handler) {
  auto server = UdpServer::open(options, std::move(handler));
  EXPECT_TRUE(server) << server.error().message();
  return std::move(*server);
}

TEST(UdpServer, answers_what_it_is_asked) {
  const auto server = open_server({.listen = "127.0.0.1:0"}, echo);
  const Asker asker(server->address());
  EXPECT_EQ(asker.ask("hello"), "hello");
  EXPECT_EQ(asker.ask(std::string(1, '\0')), std::string(1, '\0'));
  until([&] { return server->stats().sent == 2; });
  EXPECT_EQ(server->stats().received, 2u);
  EXPECT_EQ(server->stats().unsent, 0u);
}

TEST(UdpServer, a_handler_may_keep_silent) {
  const auto server = open_server({.listen = "127.0.0.1:0", .threads = 1}, echo);
  const Asker asker(server->address());
  asker.send("silence");
  EXPECT_EQ(asker.ask("hello"), "hello");
  EXPECT_FALSE(asker.has_answer());
}

TEST(UdpServer, a_packet_that_is_too_long_comes_cut_off) {
  std::atomic<std::size_t> seen = 0;
  const auto server = open_server({.listen = "127.0.0.1:0"}, [&](auto packet, auto&, auto answer) {
    seen = packet.size();
    return write("ok", answer);
  });
  const Asker asker(server->address());
  for (const std::size_t size : {kPacketBytesMax - 1, kPacketBytesMax, kPacketBytesMax + 1}) {
    EXPECT_EQ(asker.ask(std::string(size, 'x')), "ok");
    EXPECT_EQ(seen, std::min(size, kPacketBytesMax));
  }
}

TEST(UdpServer, serves_many_senders_on_all_its_threads) {
  Mutex mutex;
  std::set<unsigned> sockets;
  const auto server =
      open_server({.listen = "127.0.0.1:0", .threads = 2},
                  [&](std::span<const std::byte> packet, const UdpPath& path, auto answer) {
                    const MutexLock lock(mutex);
                    sockets.insert(path.socket);
                    return write(text_of(packet), answer);
                  });
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(Asker(server->address()).ask(std::to_string(i)), std::to_string(i));
  EXPECT_EQ(sockets.size(), 2u);
}

TEST(UdpServer, many_packets_at_once_all_get_their_answer) {
  const auto server = open_server({.listen = "127.0.0.1:0"}, echo);
  std::vector<Asker> askers;
  for (int i = 0; i < 200; ++i) askers.emplace_back(server->address());
  for (int i = 0; i < 200; ++i) askers[static_cast<std::size_t>(i)].send(std::to_string(i));
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(askers[static_cast<std::size_t>(i)].receive(), std::to_string(i));
}

TEST(UdpServer, one_socket_serves_both_families_and_answers_from_the_address_it_was_asked_at) {
  const auto server = open_server({.listen = "[::]:0"}, echo);
  EXPECT_EQ(Asker(server->address(), "::1").ask("six"), "six");
  EXPECT_EQ(Asker(server->address(), "127.0.0.1").ask("four"), "four");
  // Whatever the route back says: an asker takes nothing from another address.
  EXPECT_EQ(Asker(server->address(), "127.0.0.77").ask("another"), "another");
}

TEST(UdpServer, an_answer_may_come_later_from_any_thread) {
  Mutex mutex;
  std::vector<UdpPath> waiting;
  const auto server =
      open_server({.listen = "[::]:0"}, [&](auto, const UdpPath& path, auto) -> std::size_t {
        const MutexLock lock(mutex);
        waiting.push_back(path);
        return 0;
      });
  const Asker asker(server->address(), "127.0.0.77");
  asker.send("hello");
  until([&] {
    const MutexLock lock(mutex);
    return !waiting.empty();
  });
  const std::byte late[] = {std::byte{'l'}, std::byte{'8'}};
  server->send(waiting[0], late);
  EXPECT_EQ(asker.receive(), "l8");
  EXPECT_EQ(server->stats().sent, 1u);
}

TEST(UdpServer, an_address_in_use_or_none_is_refused) {
  const auto server = open_server({.listen = "127.0.0.1:0"}, echo);
  EXPECT_EQ(UdpServer::open({.listen = server->address()}, echo).error().code(), Code::unavailable);
  for (const char* bad : {"", "localhost:1", "127.0.0.1", "127.0.0.1:x", "unix:/tmp/socket"})
    EXPECT_EQ(UdpServer::open({.listen = bad}, echo).error().code(), Code::invalid_argument) << bad;
}

TEST(UdpServer, goes_while_packets_come) {
  auto server = open_server({.listen = "127.0.0.1:0"}, echo);
  const Asker asker(server->address());
  for (int i = 0; i < 100; ++i) asker.send("hello");
  server.reset();
}

}  // namespace
}  // namespace sluice::net
