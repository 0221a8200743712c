// SPDX-License-Identifier: MIT
#include "tracker_upstreams.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sluice/clock.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "base/descriptor.h"
#include "child.h"
#include "tracker/udp_packet.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;
namespace udp = tracker::udp;

constexpr Duration kDelay = 200ms;
constexpr Duration kPatience = 30s;
constexpr std::uint32_t kPeersEach = 30;

/// Peers that only this upstream knows, in compact form.
std::string peers_of(std::uint32_t upstream) {
  std::string peers;
  for (std::uint32_t i = 0; i < kPeersEach; ++i)
    for (const std::uint32_t byte : {10U, upstream, 0U, i, 0x1aU, 0xe1U})
      peers += static_cast<char>(byte);
  return peers;
}

class Upstreams {
 public:
  explicit Upstreams(UpstreamsPlan plan)
      : plan_(std::move(plan)),
        is_udp_(plan_.scheme == "udp"),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  Status open() {
    std::ofstream list(plan_.list);
    for (std::uint32_t i = 0; i < plan_.upstreams; ++i) {
      SLUICE_LET(port, listen_as(i));
      list << fmt::format("- {}://127.0.0.1:{}/announce\n", plan_.scheme, port);
      peers_.push_back(peers_of(i));
    }
    list.close();
    if (!list) return error(Code::io_error, "cannot write " + plan_.list);
    return {};
  }

  void run() {
    const MonoTime until = system_clock().mono() + kPatience;
    for (;;) {
      std::array<epoll_event, 256> events{};
      const int count = epoll_wait(epoll_.get(), events.data(), events.size(), ms_to_next());
      for (int i = 0; i < count; ++i) on_event(events[static_cast<std::size_t>(i)].data.fd);
      const MonoTime now = system_clock().mono();
      for (; !late_.empty() && late_.front().due <= now; late_.pop_front()) answer(late_.front());
      if (!told_ && (delivered_.size() >= wanted() || now > until)) tell();
    }
  }

 private:
  struct Listening {
    std::uint32_t upstream = 0;
    Descriptor socket;
  };
  struct Connection {
    std::uint32_t upstream = 0;
    std::uint64_t serial = 0;  ///< Descriptors are used again.
    Descriptor socket;
    std::string text = {};
  };
  /// What is to be answered, and to whom.
  struct Late {
    MonoTime due = {};
    std::uint32_t upstream = 0;
    std::size_t torrent = 0;
    int fd = -1;
    std::uint64_t serial = 0;       ///< Of a connection.
    sockaddr_in from = {};          ///< Of a packet.
    std::uint32_t transaction = 0;  ///< Of a packet.
  };

  bool is_black_hole(std::uint32_t upstream) const { return upstream < plan_.black_holes; }
  std::size_t wanted() const {
    return std::size_t{plan_.upstreams - plan_.black_holes} * plan_.hashes;
  }

  Result<std::uint16_t> listen_as(std::uint32_t upstream) {
    const int type = (is_udp_ ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
    Descriptor one(socket(AF_INET, type, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const bool bound = bind(one.get(), any, size) == 0 && getsockname(one.get(), any, &size) == 0 &&
                       (is_udp_ || listen(one.get(), SOMAXCONN) == 0);
    if (!bound) return error(Code::unavailable, "an upstream cannot listen");
    watch(one.get());
    const int fd = one.get();
    listening_.emplace(fd, Listening{upstream, std::move(one)});
    return ntohs(address.sin_port);
  }

  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  int ms_to_next() const {
    if (late_.empty()) return 100;
    const Duration left = late_.front().due - system_clock().mono();
    return static_cast<int>(
        std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0));
  }

  void on_event(int fd) {
    if (const auto at = listening_.find(fd); at != listening_.end())
      is_udp_ ? read_packets(at->second) : accept_all(at->second);
    else if (const auto one = connections_.find(fd); one != connections_.end())
      read_requests(one->second);
  }

  void accept_all(const Listening& at) {
    for (;;) {
      Descriptor one(accept4(at.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!one.valid()) return;
      const int on = 1;
      setsockopt(one.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      watch(one.get());
      const int fd = one.get();
      connections_.insert_or_assign(fd, Connection{at.upstream, ++serial_, std::move(one)});
    }
  }

  void read_requests(Connection& from) {
    std::array<char, 8192> bytes{};
    const int fd = from.socket.get();
    const ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
    if (count <= 0) {
      connections_.erase(fd);
      return;
    }
    from.text.append(bytes.data(), static_cast<std::size_t>(count));
    for (std::size_t end = from.text.find("\r\n\r\n"); end != std::string::npos;
         end = from.text.find("\r\n\r\n")) {
      const std::string_view head = std::string_view(from.text).substr(0, end);
      const std::size_t at = std::min(head.find("info_hash="), head.size());
      const std::string_view torrent = head.substr(at, head.find('&', at) - at);
      put_off({.upstream = from.upstream,
               .torrent = std::hash<std::string_view>()(torrent),
               .fd = fd,
               .serial = from.serial});
      from.text.erase(0, end + 4);
    }
  }

  void read_packets(const Listening& at) {
    std::array<std::uint8_t, udp::kRequestBytesMax> bytes{};
    sockaddr_in from{};
    for (;;) {
      socklen_t size = sizeof from;
      const ssize_t count = recvfrom(at.socket.get(), bytes.data(), bytes.size(), 0,
                                     reinterpret_cast<sockaddr*>(&from), &size);
      if (count < 0) return;
      const auto request = udp::read_request({bytes.data(), static_cast<std::size_t>(count)});
      if (!request || is_black_hole(at.upstream)) continue;
      if (const auto* connect = std::get_if<udp::ConnectRequest>(&*request)) {
        const std::size_t length = udp::write(bytes, udp::ConnectAnswer{connect->transaction, 1});
        sendto(at.socket.get(), bytes.data(), length, 0, reinterpret_cast<sockaddr*>(&from), size);
      } else if (const auto* announce = std::get_if<udp::AnnounceRequest>(&*request)) {
        const auto& hash = announce->announce.hash.bytes;
        const std::string_view torrent(reinterpret_cast<const char*>(hash.data()), hash.size());
        put_off({.upstream = at.upstream,
                 .torrent = std::hash<std::string_view>()(torrent),
                 .fd = at.socket.get(),
                 .from = from,
                 .transaction = announce->transaction});
      }
    }
  }

  void put_off(Late late) {
    if (is_black_hole(late.upstream)) return;
    late.due = system_clock().mono() + kDelay;
    late_.push_back(late);
  }

  void answer(const Late& late) {
    if (is_udp_) {
      answer_packet(late);
    } else {
      const auto to = connections_.find(late.fd);
      if (to == connections_.end() || to->second.serial != late.serial) return;
      const std::string body =
          fmt::format("d8:intervali1800e5:peers{}:{}e", 6 * kPeersEach, peers_[late.upstream]);
      const std::string text =
          fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
      send(late.fd, text.data(), text.size(), MSG_NOSIGNAL);
    }
    delivered_.insert(late.torrent * 1'000 + late.upstream);
  }

  void answer_packet(const Late& late) {
    std::array<std::uint8_t, udp::kAnswerBytesMax> bytes{};
    const std::size_t length =
        udp::write(bytes, udp::AnnounceAnswer{.transaction = late.transaction,
                                              .interval = 1800s,
                                              .peers = peers_[late.upstream]});
    sendto(late.fd, bytes.data(), length, 0, reinterpret_cast<const sockaddr*>(&late.from),
           sizeof late.from);
  }

  void tell() {
    told_ = true;
    tell_parent({static_cast<std::int64_t>(delivered_.size()),
                 system_clock().mono().time_since_epoch() / 1ns});
  }

  const UpstreamsPlan plan_;
  const bool is_udp_;
  const Descriptor epoll_;
  std::vector<std::string> peers_;
  std::unordered_map<int, Listening> listening_;
  std::unordered_map<int, Connection> connections_;
  std::uint64_t serial_ = 0;
  std::deque<Late> late_;
  std::unordered_set<std::size_t> delivered_;  ///< Torrent and upstream in one number.
  bool told_ = false;
};

}  // namespace

std::vector<std::string> words_of(const UpstreamsPlan& plan) {
  return {kUpstreamsCommand,
          plan.list,
          plan.scheme,
          std::to_string(plan.upstreams),
          std::to_string(plan.black_holes),
          std::to_string(plan.hashes)};
}

Status upstreams_process(const std::vector<std::string>& words) {
  if (words.size() != 6) return error(Code::invalid_argument, "not for people");
  const auto count = [&](std::size_t at) {
    return static_cast<std::uint32_t>(std::stoul(words[at]));
  };
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  Upstreams upstreams({.list = words[1],
                       .scheme = words[2],
                       .upstreams = count(3),
                       .black_holes = count(4),
                       .hashes = count(5)});
  SLUICE_TRY(upstreams.open());
  tell_parent({0});
  upstreams.run();
  return {};
}

}  // namespace sluice::bench
