// SPDX-License-Identifier: MIT
#include "tracker/udp_upstreams.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "tracker/upstream_failure.h"

namespace sluice::tracker {
namespace {

constexpr std::size_t kPacketBytesMax = 65'536;
// Then others get their turn.
constexpr int kPacketsAtOnce = 256;
constexpr Duration kWaitMax = std::chrono::hours(1);

timespec timespec_of(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

Result<std::vector<Endpoint>> endpoints_of(const Result<std::vector<net::Address>>& addresses) {
  if (!addresses) return tl::unexpected(addresses.error());
  std::vector<Endpoint> endpoints;
  for (const net::Address& address : *addresses) {
    const auto endpoint = endpoint_of_socket(address);
    if (endpoint && std::ranges::find(endpoints, *endpoint) == endpoints.end())
      endpoints.push_back(*endpoint);
  }
  return endpoints;
}

}  // namespace

Result<std::unique_ptr<UdpUpstreams>> UdpUpstreams::open(UdpUpstreamsOptions options) {
  Descriptor waker(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker.valid())
    return error(Code::unavailable,
                 "cannot open an eventfd: " + std::generic_category().message(errno));
  auto v4 = UpstreamSocket::open(UpstreamSocket::Family::v4);
  auto v6 = UpstreamSocket::open(UpstreamSocket::Family::v6);
  if (!v4 && !v6) return tl::unexpected(v4.error());
  Sockets sockets{.waker = std::move(waker), .v4 = {}, .v6 = {}};
  if (v4) sockets.v4 = std::move(*v4);
  if (v6) sockets.v6 = std::move(*v6);
  return std::unique_ptr<UdpUpstreams>(new UdpUpstreams(std::move(options), std::move(sockets)));
}

UdpUpstreams::UdpUpstreams(UdpUpstreamsOptions options, Sockets sockets)
    : clock_(*options.clock),
      sockets_(std::move(sockets)),
      calls_(*this, random_, options.calls),
      room_(kPacketBytesMax),
      resolver_(std::move(options.look_up)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

UdpUpstreams::~UdpUpstreams() {
  end();
}

void UdpUpstreams::end() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    over_ = true;
  }
  thread_.request_stop();
  wake();
  thread_.join();
}

void UdpUpstreams::announce(const UpstreamRequest& request, Done done) {
  const MonoTime deadline = clock_.mono() + request.timeout;
  MutexLock lock(mutex_);
  if (over_) {
    lock.unlock();
    return done(unreachable("the program ends"));
  }
  arrived_.push_back({.request = request, .done = std::move(done), .deadline = deadline});
  if (arrived_.size() == 1) wake();
}

void UdpUpstreams::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_arrived();
    calls_.look(clock_.mono());
    wait();
    receive(sockets_.v4);
    receive(sockets_.v6);
  }
  take_arrived();
  calls_.end();
}

void UdpUpstreams::take_arrived() {
  std::vector<UdpCalls::Call> arrived;
  std::vector<Found> found;
  {
    const MutexLock lock(mutex_);
    arrived.swap(arrived_);
    found.swap(found_);
  }
  const MonoTime now = clock_.mono();
  for (UdpCalls::Call& call : arrived) calls_.add(std::move(call), now);
  for (const Found& one : found) calls_.found(one.name, one.endpoints, now);
}

void UdpUpstreams::wait() {
  std::array<pollfd, 3> wanted{};
  nfds_t count = 0;
  wanted[count++] = {.fd = sockets_.waker.get(), .events = POLLIN, .revents = 0};
  for (const auto* socket : {&sockets_.v4, &sockets_.v6})
    if (*socket) wanted[count++] = {.fd = (*socket)->fd(), .events = POLLIN, .revents = 0};
  const MonoTime next = calls_.next();
  const MonoTime now = clock_.mono();
  const timespec time =
      timespec_of(next - now > kWaitMax ? kWaitMax : std::max(next - now, Duration()));
  ::ppoll(wanted.data(), count, &time, nullptr);
  // Before what has arrived is taken, so that nothing that comes after that is missed.
  eventfd_t woken = 0;
  if (wanted[0].revents != 0) ::eventfd_read(sockets_.waker.get(), &woken);
}

void UdpUpstreams::receive(const std::optional<UpstreamSocket>& socket) {
  if (!socket) return;
  const MonoTime now = clock_.mono();
  for (int i = 0; i < kPacketsAtOnce; ++i) {
    const auto received = socket->receive(room_);
    if (!received) return;
    calls_.take(received->from, {room_.data(), received->bytes}, now);
  }
}

Status UdpUpstreams::send(const UdpRoute& route, udp::Bytes packet) {
  const Endpoint& to = route.to;
  const auto& socket = to.is_v6 ? sockets_.v6 : sockets_.v4;
  if (!socket)
    return error(Code::unavailable,
                 std::string("there is no ") + (to.is_v6 ? "IPv6" : "IPv4") + " here");
  if (route.from && route.from->is_v6 != to.is_v6)
    return error(Code::unavailable, std::string("it has an ") + (to.is_v6 ? "IPv6" : "IPv4") +
                                        " address, and what to send from is of the other family");
  return socket->send(to, route.from, packet);
}

void UdpUpstreams::look_up(const UdpName& name) {
  resolver_.find(name.host, name.port, [this, name](Result<std::vector<net::Address>> addresses) {
    Found found{.name = name, .endpoints = endpoints_of(addresses)};
    const MutexLock lock(mutex_);
    found_.push_back(std::move(found));
    if (found_.size() == 1) wake();
  });
}

void UdpUpstreams::wake() const {
  ::eventfd_write(sockets_.waker.get(), 1);
}

}  // namespace sluice::tracker
