// SPDX-License-Identifier: MIT
// What the tests of the transport share: announces, their results, and a tracker over UDP that
// behaves as a test says.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/mutex.h"
#include "net/address.h"
#include "tests/support/waiting.h"
#include "tracker/udp_packet.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

/// Longer than any test takes.
inline const Duration kPatience = test::patience();

inline UpstreamRequest request_to(std::string uri, Duration timeout = kPatience) {
  UpstreamRequest request{.timeout = timeout};
  request.upstream =
      std::make_shared<const UpstreamConfig>(UpstreamConfig{.name = uri, .uri = std::move(uri)});
  request.announce.hash.bytes.fill('h');
  request.announce.peer.bytes.fill('p');
  request.announce.endpoint.port = 6881;
  request.announce.left = 7;
  return request;
}

/// Waits for the result.
inline UpstreamResult ask(UpstreamTransport& upstreams, const UpstreamRequest& request) {
  struct Waiting {
    UpstreamResult result = {};
    std::latch done{1};
  };
  const auto waiting = std::make_shared<Waiting>();
  upstreams.announce(request, [waiting](UpstreamResult result) {
    waiting->result = std::move(result);
    waiting->done.count_down();
  });
  waiting->done.wait();
  return waiting->result;
}

/// What one thread writes and another reads.
template <class T>
class Kept {
 public:
  void set(T value) {
    const MutexLock lock(mutex_);
    value_ = std::move(value);
  }
  T get() {
    const MutexLock lock(mutex_);
    return value_;
  }

 private:
  Mutex mutex_;
  T value_ SLUICE_GUARDED_BY(mutex_) = {};
};

/// Collects the results of calls that do not block.
class Results {
 public:
  UpstreamTransport::Done add() {
    return [this](UpstreamResult result) {
      const MutexLock lock(mutex_);
      all_.push_back(std::move(result));
    };
  }
  std::size_t count() {
    const MutexLock lock(mutex_);
    return all_.size();
  }
  std::vector<UpstreamResult> all() {
    const MutexLock lock(mutex_);
    return all_;
  }

 private:
  Mutex mutex_;
  std::vector<UpstreamResult> all_ SLUICE_GUARDED_BY(mutex_);
};

/// Runs `serve` for every request, on a thread of its own.
class UdpTracker {
 public:
  using Serve = std::function<void(UdpTracker& tracker, const udp::Request& request)>;

  explicit UdpTracker(Serve serve = usual(), const std::string& address = "127.0.0.1")
      : serve_(std::move(serve)), socket_(open(address)) {
    socklen_t bytes = sizeof own_.storage;
    SLUICE_CHECK(::getsockname(socket_.get(), raw(own_), &bytes) == 0);
    own_.bytes = bytes;
    thread_ = std::jthread([this] { run(); });
  }
  ~UdpTracker() {
    over_ = true;
    ::sendto(socket_.get(), "", 0, 0, own_.raw(), own_.bytes);
  }

  std::uint16_t port() const {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&own_.storage);
    return static_cast<std::uint16_t>(bytes[2] << 8 | bytes[3]);  // The same in both families.
  }
  std::string uri(const std::string& host = "127.0.0.1", const std::string& path = "") const {
    return "udp://" + host + ":" + std::to_string(port()) + path;
  }

  /// To who sent the request that is being served.
  template <class Answer>
  void reply(const Answer& answer) const {
    reply_through(socket_.get(), answer);
  }
  /// The same, from another address.
  template <class Answer>
  void reply_from_elsewhere(const Answer& answer) const {
    const Descriptor other = open("127.0.0.1");
    reply_through(other.get(), answer);
  }

  /// Gives the id 1, then 2, and so on, and no peers.
  static Serve usual() {
    return [](UdpTracker& tracker, const udp::Request& request) {
      if (const auto* connect = std::get_if<udp::ConnectRequest>(&request))
        tracker.reply(udp::ConnectAnswer{connect->transaction, tracker.connects});
      if (const auto* announce = std::get_if<udp::AnnounceRequest>(&request))
        tracker.reply(udp::AnnounceAnswer{.transaction = announce->transaction,
                                          .interval = std::chrono::seconds(1800)});
    };
  }

  /// Who sent the request that is being served.
  std::string client() const { return net::peer_name(client_.storage); }

  std::atomic<unsigned> connects = 0;
  std::atomic<unsigned> announces = 0;

 private:
  static sockaddr* raw(net::Address& address) {
    return reinterpret_cast<sockaddr*>(&address.storage);
  }
  static Descriptor open(const std::string& host) {
    const net::Address address = *net::numeric_address(host, 0);
    Descriptor socket(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    SLUICE_CHECK(::bind(socket.get(), address.raw(), address.bytes) == 0);
    return socket;
  }

  void run() {
    std::array<std::uint8_t, udp::kRequestBytesMax> room;
    for (;;) {
      client_.bytes = sizeof client_.storage;
      const ssize_t bytes =
          ::recvfrom(socket_.get(), room.data(), room.size(), 0, raw(client_), &client_.bytes);
      if (over_) return;
      if (bytes <= 0) continue;
      const auto request = udp::read_request({room.data(), static_cast<std::size_t>(bytes)});
      SLUICE_CHECK(request.has_value());
      if (std::holds_alternative<udp::ConnectRequest>(*request)) ++connects;
      if (std::holds_alternative<udp::AnnounceRequest>(*request)) ++announces;
      serve_(*this, *request);
    }
  }

  template <class Answer>
  void reply_through(int fd, const Answer& answer) const {
    std::array<std::uint8_t, udp::kAnswerBytesMax> room;
    const std::size_t bytes = udp::write(room, answer);
    ::sendto(fd, room.data(), bytes, 0, client_.raw(), client_.bytes);
  }

  const Serve serve_;
  const Descriptor socket_;
  net::Address own_;
  net::Address client_;
  std::atomic<bool> over_ = false;
  std::jthread thread_;
};

}  // namespace sluice::tracker
