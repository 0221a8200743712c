// SPDX-License-Identifier: MIT
// The connections of a client, and the calls that use them or wait for them. Private to this room.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/client_call.h"
#include "net/client_connection.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/resolver.h"

namespace sluice::net {

/// Lives on its loop's thread, but for stats() and wait_until_over(). Tasks on the loop keep it
/// alive when the client is gone, and end soon: shut() has closed what they wait for.
class ClientPool : public Watched, public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(Loop& loop, HttpClientOptions options);

  /// Before the first call.
  void begin() { loop_.watch(this); }
  void add(const std::shared_ptr<ClientCall>& call);
  /// Ends every call with `cancelled`, now and from now on.
  void shut();

  void look(MonoTime now) override;
  void abandon() override { shut(); }

  HttpClientStats stats() const;
  void wait_until_over() const { over_.wait(false); }
  /// Not on the loop's thread: waits for look-ups.
  void end_look_ups() { resolver_.reset(); }

 private:
  using Connection = std::shared_ptr<ClientConnection>;
  using Call = std::shared_ptr<ClientCall>;
  using Late = std::weak_ptr<ClientCall>;
  using Some = std::vector<Address>;

  /// Calls and connections of one way.
  struct Host {
    std::string way = {};
    std::map<std::uint64_t, Call> waiting = {};  // By number.
    std::vector<std::uint64_t> idle = {};        // Numbers in idle_, the last one last.
    std::size_t connections = 0;
    std::uint64_t turn = 0;  // Its key in ready_; 0 if it is not there.
  };
  struct Idle {
    Connection connection;
    Host* host;
    MonoTime since;
  };

  // Which call gets which connection.
  void serve();
  void update(Host& host);
  Call next_of(Host& host);
  void rest(Host& host, const Connection& connection);
  Connection wake(Host& host);
  void forget_idle(std::uint64_t number);
  bool close_oldest_idle();
  void close(Host& host, const Connection& connection);
  void set_alarm(const Call& call, MonoTime at);
  void arm();
  Host& host_of(const Call& call) { return hosts_.at(call->way); }

  // The way of one call.
  void open(const Call& call);
  void connect(const Call& call, Result<Some> addresses);
  void start(const Call& call, Some addresses);
  Task<void> run(Call call, Connection connection, Some addresses);
  void settle(const Call& call, tl::expected<ClientResponse, std::string> answer);
  void end(const Call& call, Status why);
  void expire(const Call& call);
  void finish(const Call& call, Result<ClientResponse> result);

  Loop& loop_;
  const HttpClientOptions options_;
  std::unique_ptr<Resolver> resolver_;
  Timer timer_;
  MonoTime armed_ = MonoTime::max();

  bool serving_ = false;
  bool closing_ = false;
  std::uint64_t last_call_ = 0;
  std::uint64_t last_idle_ = 0;
  std::unordered_map<std::string, Host> hosts_;      // By way.
  std::set<std::pair<std::uint64_t, Host*>> ready_;  // Have a call that might go, by the oldest.
  std::map<std::uint64_t, Idle> idle_;               // The oldest first.
  std::set<std::pair<MonoTime, Call>> alarms_;

  std::atomic<bool> over_ = false;
  std::atomic<std::uint64_t> connections_ = 0;
  std::atomic<std::uint64_t> idle_count_ = 0;
  std::atomic<std::uint64_t> waiting_ = 0;
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<std::uint64_t> repeated_ = 0;
};

/// Never past the end of time.
MonoTime later(MonoTime now, Duration time);

}  // namespace sluice::net
