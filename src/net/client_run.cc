// SPDX-License-Identifier: MIT
// The way of one call, from add() to its callback. Which connection it gets is in client_pool.cc.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "net/client_pool.h"

namespace sluice::net {
namespace {

// Of one name. The time to connect is shared among them.
constexpr std::size_t kAddressesMax = 6;

Status unreachable(const ClientCall& call, std::string_view why) {
  const std::string through =
      call.tunnel ? " through " + call.tunnel->proxy.place() : std::string();
  return {Code::unavailable,
          "cannot connect to " + call.origin + through + ": " + std::string(why)};
}

Status unknown(const ClientCall& call, std::string_view why) {
  return {Code::commit_unknown,
          "no answer from " + call.origin + ": " + std::string(why) +
              "; the request may have arrived: look, or repeat it if it may happen twice"};
}

Status stopped(const ClientCall& call) {
  return {Code::cancelled, "the call to " + call.origin + " was cancelled"};
}

Status too_late(const ClientCall& call, MonoTime now) {
  if (call.connection && !call.connecting) return unknown(call, "the time for the call is over");
  if (call.deadline > now)
    return unreachable(call, "no answer in time; check the address, and that the server runs");
  return {Code::deadline_exceeded,
          "the time for the call to " + call.origin + " was over before it had a connection; " +
              (call.connection ? "check that the server runs, or give it more time"
                               : "allow more connections, or give it more time")};
}

}  // namespace

void ClientPool::add(const Call& call) {
  if (closing_) return finish(call, error(Code::cancelled, "the client has ended"));
  call->number = ++last_call_;
  Host& host = hosts_[call->way];
  host.way = call->way;
  host.waiting.emplace(call->number, call);
  ++waiting_;
  set_alarm(call, call->deadline);
  if (call->deadline <= loop_.now()) return expire(call);
  if (call->stop.stop_possible())
    call->on_stop.emplace(call->stop, [&loop = loop_, weak = weak_from_this(), late = Late(call)] {
      loop.post([weak, late] {
        const auto self = weak.lock();
        const Call late_call = late.lock();
        if (self && late_call) self->end(late_call, stopped(*late_call));
      });
    });
  update(host);
  serve();
  if (!call->connection && waiting_ > options_.waiting_max)
    end(call, error(Code::limit_exceeded, "too many calls wait for a connection already (" +
                                              std::to_string(options_.waiting_max) +
                                              "); make fewer at once, or allow more"));
}

/// A place among the connections was taken for it.
void ClientPool::open(const Call& call) {
  ++opened_;
  auto stream = call->url.scheme == HttpUrl::Scheme::https
                    ? make_tls_stream(loop_, call->tls, call->url.host)
                    : make_plain_stream(loop_);
  const auto connection = std::make_shared<ClientConnection>(
      loop_, std::move(stream), ClientConnection::Way{call->from, call->tunnel});
  call->connection = connection;
  call->connecting = true;
  set_alarm(call, std::min(call->deadline, later(loop_.now(), options_.connect_time)));
  if (call->url.scheme == HttpUrl::Scheme::unix_socket)
    return connect(call, unix_address(call->url.host).map([](Address one) { return Some{one}; }));
  if (call->tunnel && options_.public_addresses_only)
    return end(call, error(Code::permission_denied,
                           call->origin + " is not asked through a proxy, as only addresses of the "
                                          "public internet are allowed"));
  const std::string& host = call->tunnel ? call->tunnel->proxy.host : call->url.host;
  const std::uint16_t port = call->tunnel ? call->tunnel->proxy.port : call->url.port;
  if (const auto address = numeric_address(host, port)) return connect(call, Some{*address});
  // Holds nothing on the resolver's thread that belongs on this one.
  auto done = [&loop = loop_, weak = weak_from_this(), late = Late(call),
               opened = std::weak_ptr(connection)](const Result<Some>& addresses) {
    loop.post([weak, late, opened, addresses] {
      const auto self = weak.lock();
      const Call late_call = late.lock();
      const Connection wanted = opened.lock();
      if (self && late_call && wanted && late_call->connection == wanted)
        self->connect(late_call, addresses);
    });
  };
  call->look_up = resolver_->find(host, port, std::move(done));
}

void ClientPool::connect(const Call& call, Result<Some> addresses) {
  if (!addresses) return end(call, addresses.error());
  Some& some = *addresses;
  if (some.empty()) return end(call, unreachable(*call, "it has no address; check the name"));
  if (call->from) {
    const auto family = call->from->storage.ss_family;
    std::erase_if(some, [&](const Address& one) { return one.storage.ss_family != family; });
    if (some.empty())
      return end(call, unreachable(*call, "it has no address of the family of " +
                                              peer_name(call->from->storage)));
  }
  if (options_.public_addresses_only) {
    const std::string first = peer_name(some.front().storage);
    std::erase_if(some, [](const Address& one) { return !is_public(one); });
    if (some.empty())
      return end(call, error(Code::permission_denied,
                             call->origin + " leads to " + first +
                                 ", and only addresses of the public internet are allowed"));
  }
  if (some.size() > kAddressesMax) some.resize(kAddressesMax);
  start(call, std::move(some));
}

/// On a connection that has served before, there are no addresses.
void ClientPool::start(const Call& call, Some addresses) {
  call->reused = addresses.empty();
  asio::co_spawn(
      loop_.context(),
      [self = shared_from_this(), call, connection = call->connection,
       some = std::move(addresses)]() -> Task<void> { co_await self->run(call, connection, some); },
      asio::detached);
}

Task<void> ClientPool::run(Call call, Connection connection, Some addresses) {
  if (!addresses.empty()) {
    const std::string why = co_await connection->connect(std::move(addresses), call->alarm);
    if (call->connection != connection) co_return;
    if (!why.empty()) co_return end(call, unreachable(*call, why));
    call->connecting = false;
    set_alarm(call, call->deadline);
  }
  auto answer = co_await connection->exchange(call->request, options_.answer);
  if (call->connection == connection) settle(call, std::move(answer));
}

void ClientPool::settle(const Call& call, tl::expected<ClientResponse, std::string> answer) {
  const Connection connection = call->connection;
  if (!answer && call->reused && !connection->was_answered() && call->repeatable) {
    // Its place is the new one's, which is not reused: there is no third time.
    connection->close();
    ++repeated_;
    return open(call);
  }
  call->connection = nullptr;
  Host& host = host_of(call);
  if (answer && connection->is_good())
    rest(host, connection);
  else
    close(host, connection);
  serve();
  if (answer) return finish(call, std::move(*answer));
  finish(call, tl::unexpected(unknown(*call, answer.error())));
}

void ClientPool::end(const Call& call, Status why) {
  if (!call->done) return;
  Host& host = host_of(call);
  if (const Connection connection = std::move(call->connection)) {
    resolver_->forget(call->look_up);
    close(host, connection);
  } else {
    host.waiting.erase(call->number);
    --waiting_;
    update(host);
  }
  serve();
  finish(call, tl::unexpected(std::move(why)));
}

void ClientPool::expire(const Call& call) {
  end(call, too_late(*call, loop_.now()));
}

void ClientPool::finish(const Call& call, Result<ClientResponse> result) {
  alarms_.erase({call->alarm, call});
  call->on_stop.reset();
  const HttpClient::Done done = std::exchange(call->done, nullptr);
  done(std::move(result));
}

void ClientPool::shut() {
  const auto self = shared_from_this();
  if (std::exchange(closing_, true)) return;
  loop_.unwatch(this);
  while (!alarms_.empty()) {
    const Call call = alarms_.begin()->second;
    end(call, stopped(*call));
  }
  while (close_oldest_idle()) {
  }
  timer_.cancel();
  over_ = true;
  over_.notify_all();
}

}  // namespace sluice::net
