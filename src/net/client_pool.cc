// SPDX-License-Identifier: MIT
// Which call gets which connection. The way of one call is in client_run.cc.
#include "net/client_pool.h"

#include <algorithm>

namespace sluice::net {

MonoTime later(MonoTime now, Duration time) {
  return time > MonoTime::max() - now ? MonoTime::max() : now + time;
}

ClientPool::ClientPool(Loop& loop, HttpClientOptions options)
    : loop_(loop),
      options_(std::move(options)),
      resolver_(std::make_unique<Resolver>(options_.look_up)),
      timer_(loop.context()) {}

HttpClientStats ClientPool::stats() const {
  return {.connections = connections_,
          .idle = idle_count_,
          .waiting = waiting_,
          .opened = opened_,
          .repeated = repeated_};
}

/// Gives connections to calls, the oldest first, as long as there are both.
void ClientPool::serve() {
  // A call that ends here makes room for another one, which the loop below finds.
  if (closing_ || std::exchange(serving_, true)) return;
  while (!ready_.empty()) {
    Host& host = *ready_.begin()->second;
    if (!host.idle.empty()) {
      const Connection connection = wake(host);
      if (!connection) continue;  // It has died; the next one then.
      const Call call = next_of(host);
      call->connection = connection;
      start(call, {});
    } else if (connections_ < options_.connections_max || close_oldest_idle()) {
      ++host.connections;
      ++connections_;
      open(next_of(host));
    } else {
      break;  // Nor can a younger one go: no connection rests.
    }
  }
  serving_ = false;
}

/// After every change of a host. It is ready if its oldest call may go as far as the host decides.
void ClientPool::update(Host& host) {
  const bool may_go = !host.idle.empty() || host.connections < options_.connections_per_host_max;
  const std::uint64_t turn = may_go && !host.waiting.empty() ? host.waiting.begin()->first : 0;
  if (turn != host.turn) {
    if (host.turn != 0) ready_.erase({host.turn, &host});
    if (turn != 0) ready_.insert({turn, &host});
    host.turn = turn;
  }
  if (host.waiting.empty() && host.connections == 0) hosts_.erase(std::string(host.way));
}

ClientPool::Call ClientPool::next_of(Host& host) {
  const Call call = host.waiting.extract(host.waiting.begin()).mapped();
  --waiting_;
  update(host);
  return call;
}

void ClientPool::rest(Host& host, const Connection& connection) {
  const std::uint64_t number = ++last_idle_;
  idle_.emplace(number, Idle{connection, &host, loop_.now()});
  host.idle.push_back(number);
  ++idle_count_;
  connection->watch([weak = weak_from_this(), number] {
    if (const auto self = weak.lock()) self->forget_idle(number);
  });
  update(host);
}

/// The last that came to rest, or null if it has died.
ClientPool::Connection ClientPool::wake(Host& host) {
  const std::uint64_t number = host.idle.back();
  const Connection connection = idle_.at(number).connection;
  if (!connection->unwatch()) {
    forget_idle(number);
    return nullptr;
  }
  host.idle.pop_back();
  idle_.erase(number);
  --idle_count_;
  return connection;
}

void ClientPool::forget_idle(std::uint64_t number) {
  const auto found = idle_.find(number);
  if (found == idle_.end()) return;
  const Idle idle = found->second;
  idle_.erase(found);
  std::erase(idle.host->idle, number);
  --idle_count_;
  close(*idle.host, idle.connection);
}

bool ClientPool::close_oldest_idle() {
  if (idle_.empty()) return false;
  forget_idle(idle_.begin()->first);
  return true;
}

void ClientPool::close(Host& host, const Connection& connection) {
  connection->close();
  --host.connections;
  --connections_;
  update(host);
}

void ClientPool::look(MonoTime now) {
  while (!alarms_.empty() && alarms_.begin()->first <= now) expire(Call(alarms_.begin()->second));
  while (!idle_.empty() && now - idle_.begin()->second.since >= options_.idle_time)
    close_oldest_idle();
}

/// The loop looks by itself now and then; in between, the timer does when a time is over.
void ClientPool::arm() {
  if (alarms_.empty() || alarms_.begin()->first >= armed_) return;
  constexpr Duration kSoon = std::chrono::milliseconds(1);
  armed_ = alarms_.begin()->first;
  timer_.expires_after(std::clamp<Duration>(armed_ - loop_.now(), kSoon, std::chrono::hours(1)));
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code problem) {
    const auto self = weak.lock();
    if (problem || !self) return;
    self->armed_ = MonoTime::max();
    self->look(self->loop_.now());
    self->arm();
  });
}

void ClientPool::set_alarm(const Call& call, MonoTime at) {
  alarms_.erase({call->alarm, call});
  call->alarm = at;
  alarms_.insert({at, call});
  arm();
}

}  // namespace sluice::net
