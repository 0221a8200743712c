// SPDX-License-Identifier: MIT
#include "net/udp_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "net/listen.h"

namespace sluice::net {
namespace {

constexpr std::size_t kPacketsAtOnce = 64;
/// A burst that arrives while a thread is not running has room in it.
constexpr int kBufferBytes = 4 * 1024 * 1024;

struct Counters {
  std::atomic<std::uint64_t> received = 0;
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<std::uint64_t> unsent = 0;
};

msghdr header_of(UdpPath& path, iovec& bytes) {
  msghdr header{};
  header.msg_name = &path.peer.storage;
  header.msg_namelen = path.peer.bytes;
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = path.control.data();
  header.msg_controllen = path.control_bytes;
  return header;
}

/// One thread's memory: as many packets as one call takes, and an answer for each.
class Batch {
 public:
  Batch(unsigned socket, int fd)
      : fd_(fd), paths_(kPacketsAtOnce), in_(kPacketsAtOnce), out_(kPacketsAtOnce) {
    for (UdpPath& path : paths_) path.socket = socket;
  }

  /// How many have come; 0 if none is there.
  std::size_t receive() {
    for (std::size_t i = 0; i < kPacketsAtOnce; ++i) {
      paths_[i].peer.bytes = sizeof paths_[i].peer.storage;
      paths_[i].control_bytes = paths_[i].control.size();
      pieces_[i] = {in_[i].data(), in_[i].size()};
      headers_[i].msg_hdr = header_of(paths_[i], pieces_[i]);
    }
    const int count = recvmmsg(fd_, headers_, kPacketsAtOnce, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count; ++i) {
      paths_[static_cast<std::size_t>(i)].peer.bytes = headers_[i].msg_hdr.msg_namelen;
      paths_[static_cast<std::size_t>(i)].control_bytes = headers_[i].msg_hdr.msg_controllen;
    }
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

  /// How many answers there are.
  std::size_t answer(std::size_t count, const UdpServer::Handler& handler) {
    std::size_t answers = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const std::byte> packet(in_[i].data(), headers_[i].msg_len);
      const std::size_t size = handler(packet, paths_[i], out_[answers]);
      if (size == 0) continue;
      pieces_[answers] = {out_[answers].data(), size};
      answer_headers_[answers] = {header_of(paths_[i], pieces_[answers]), 0};
      ++answers;
    }
    return answers;
  }

  /// How many the system took. One that it refuses (a peer that cannot be reached) is left out.
  std::size_t send(std::size_t answers) {
    std::size_t sent = 0;
    for (std::size_t done = 0; done < answers;) {
      const int count = sendmmsg(fd_, answer_headers_ + done, static_cast<unsigned>(answers - done),
                                 MSG_DONTWAIT);
      sent += count > 0 ? static_cast<std::size_t>(count) : 0;
      done += count > 0 ? static_cast<std::size_t>(count) : 1;
    }
    return sent;
  }

 private:
  const int fd_;
  std::vector<UdpPath> paths_;
  std::vector<std::array<std::byte, kPacketBytesMax>> in_;
  std::vector<std::array<std::byte, kPacketAnswerBytesMax>> out_;
  iovec pieces_[kPacketsAtOnce] = {};
  mmsghdr headers_[kPacketsAtOnce] = {};
  mmsghdr answer_headers_[kPacketsAtOnce] = {};
};

void set_up(int fd) {
  const int on = 1;
  // One for both families, if it is such a socket.
  if (setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) != 0)
    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof kBufferBytes);
}

class PacketServer final : public UdpServer {
 public:
  PacketServer(std::vector<Listener> sockets, Handler handler)
      : sockets_(std::move(sockets)),
        handler_(std::move(handler)),
        stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~PacketServer() override {
    eventfd_write(stop_.get(), 1);
    threads_.clear();
  }

  void start() {
    for (unsigned i = 0; i < sockets_.size(); ++i) {
      set_up(sockets_[i].socket.get());
      threads_.emplace_back([this, i] { serve(i); });
    }
  }

  const std::string& address() const override { return sockets_[0].address; }
  UdpServerStats stats() const override {
    return {counters_.received, counters_.sent, counters_.unsent};
  }

  void send(const UdpPath& path, std::span<const std::byte> packet) override {
    UdpPath way = path;
    iovec piece{const_cast<std::byte*>(packet.data()), packet.size()};
    const msghdr header = header_of(way, piece);
    const bool taken = sendmsg(sockets_[path.socket].socket.get(), &header, MSG_DONTWAIT) >= 0;
    ++(taken ? counters_.sent : counters_.unsent);
  }

 private:
  void serve(unsigned number) {
    const int fd = sockets_[number].socket.get();
    Batch batch(number, fd);
    for (;;) {
      const std::size_t count = batch.receive();
      if (count == 0) {
        pollfd both[2] = {{fd, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
        poll(both, 2, -1);
        if (both[1].revents != 0) return;
        continue;
      }
      const std::size_t answers = batch.answer(count, handler_);
      const std::size_t sent = batch.send(answers);
      counters_.received += count;
      counters_.sent += sent;
      counters_.unsent += answers - sent;
    }
  }

  const std::vector<Listener> sockets_;
  const Handler handler_;
  const Descriptor stop_;
  Counters counters_;
  std::vector<std::jthread> threads_;
};

}  // namespace

Result<std::unique_ptr<UdpServer>> UdpServer::open(const UdpServerOptions& options,
                                                   Handler handler) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  SLUICE_LET(sockets, bind_datagrams(options.listen, options.threads ? options.threads : cores));
  auto server = std::make_unique<PacketServer>(std::move(sockets), std::move(handler));
  server->start();
  return server;
}

}  // namespace sluice::net
