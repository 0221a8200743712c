// SPDX-License-Identifier: MIT
// Announces to upstream trackers over UDP (BEP 15), without sockets: what is sent when, and what
// the answers mean.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>
#include <sluice/result.h>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracker/announce.h"
#include "tracker/udp_packet.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

/// Where an upstream says that it is.
struct UdpName {
  std::string host = {};
  std::uint16_t port = 0;
  friend auto operator<=>(const UdpName&, const UdpName&) = default;
};

/// From where to where.
struct UdpRoute {
  Endpoint to = {};
  std::optional<Endpoint> from = {};  ///< Its port means nothing. Nothing: any address.
  friend auto operator<=>(const UdpRoute&, const UdpRoute&) = default;
};

/// What the calls need of the world.
class UdpOutside {
 public:
  virtual ~UdpOutside() = default;
  /// Fails only if nothing can be sent there. What is lost on the way was sent.
  virtual Status send(const UdpRoute& route, udp::Bytes packet) = 0;
  /// Returns at once. UdpCalls::found() is told, later.
  virtual void look_up(const UdpName& name) = 0;
};

struct UdpCallsOptions {
  Duration resend_first = std::chrono::seconds(15);  ///< Then twice that, and so on. Above 0.
  Duration id_life = std::chrono::seconds(60);
  Duration name_life = std::chrono::minutes(5);
  Duration name_failure_life = std::chrono::seconds(30);
};

/// All the calls that are under way.
///
/// A call finds the addresses of its upstream, gets a connection id from the first of them, and
/// announces. Ids are kept by route, and one request for an id serves all calls that wait for it.
/// An address that nothing can be sent to, or that gives no id until a call's time is over, makes
/// way for the next one of its name.
///
/// An answer counts if its transaction, its kind and its sender are those of the request. An error
/// in answer to an announce drops the id; the first of a call makes it announce once more, with a
/// new id, and the second is a refusal. An announce that is never answered drops the id too.
///
/// Lifecycle: outlives nothing that it was given. Concurrency: not thread-safe; a `done` does not
/// call back. Cost: O(log n) per packet and call.
class UdpCalls {
 public:
  struct Call {
    UpstreamRequest request = {};
    UpstreamTransport::Done done = {};
    MonoTime deadline = {};
  };

  UdpCalls(UdpOutside& outside, Random& random, UdpCallsOptions options = {});

  void add(Call call, MonoTime now);
  void found(const UdpName& name, const Result<std::vector<Endpoint>>& endpoints, MonoTime now);
  void take(const Endpoint& from, udp::Bytes packet, MonoTime now);
  /// Sends again what is due, and ends the calls whose time is over.
  void look(MonoTime now);
  /// Ends every call.
  void end();

  /// When to look; MonoTime::max() if there is nothing to wait for.
  MonoTime next() const;
  std::size_t size() const { return calls_.size(); }
  /// How many names and addresses are remembered. Those that are of no use go when others come.
  std::size_t remembered() const { return sites_.size() + servers_.size(); }

 private:
  using Number = std::uint64_t;
  enum class State : std::uint8_t { finding, connecting, announcing };

  struct Way {
    Call call;
    UdpName name = {};
    std::vector<std::uint8_t> options = {};  // BEP 41.
    std::optional<Endpoint> claimed = {};
    State state = State::finding;
    UdpRoute route = {};
    std::size_t addresses_failed = 0;
    std::uint32_t transaction = 0;  // Of its announce; 0: none.
    std::uint64_t id = 0;           // That it was sent with.
    bool renewed = false;           // It was told an error before.
    Duration pause = {};
    MonoTime resend = MonoTime::max();
    MonoTime alarm = {};
  };
  using Ways = std::unordered_map<Number, Way>;
  using Entry = Ways::value_type;

  struct Site {
    std::vector<Endpoint> endpoints = {};
    std::size_t index = 0;  // Of the one in use.
    std::string why = {};   // There is none.
    MonoTime until = {};
    bool looking = false;
    std::vector<Number> waiting = {};
  };
  struct Server {
    std::uint64_t id = 0;
    MonoTime until = {};            // The id is good.
    std::uint32_t transaction = 0;  // Of the request for an id; 0: none.
    MonoTime asked = {};
    std::set<Number> waiting = {};
  };

  // The way of one call. Each may end it, and others.
  void find(Entry& entry, MonoTime now);
  void go_to(Entry& entry, const Endpoint& endpoint, MonoTime now);
  void announce(Entry& entry, std::uint64_t id, MonoTime now);
  void send_again(Entry& entry, MonoTime now);
  void try_next(Entry& entry, const Status& why, MonoTime now);
  void expire(Entry& entry);
  void give_up_address(const Way& way);
  void drop_id(const Way& way);
  void finish(Number number, UpstreamResult result);

  void ask_for_id(const UdpRoute& route, Server& server, MonoTime now);
  void take_answer(const Endpoint& from, const udp::ConnectAnswer& answer, MonoTime now);
  void take_answer(const Endpoint& from, const udp::AnnounceAnswer& answer);
  void take_answer(const Endpoint& from, const udp::ErrorAnswer& answer, MonoTime now);
  void take_error(Entry& entry, std::string_view text, MonoTime now);

  Entry* announced(std::uint32_t transaction, const Endpoint& from);
  Server* asked(std::uint32_t transaction, const Endpoint& from);
  Site& site_of(const UdpName& name, MonoTime now);
  Server& server_of(const UdpRoute& route, MonoTime now);
  std::uint32_t new_transaction();
  void forget_announce(Way& way);
  void forget_question(Server& server);
  void leave(Entry& entry);
  void begin_pause(Entry& entry, MonoTime now);
  void set_alarm(Entry& entry);

  UdpOutside& outside_;
  Random& random_;
  const UdpCallsOptions options_;
  Number last_ = 0;
  Ways calls_;
  std::set<std::pair<MonoTime, Number>> alarms_;
  std::map<UdpName, Site> sites_;
  std::map<UdpRoute, Server> servers_;
  std::unordered_map<std::uint32_t, Number> announces_;    // By transaction.
  std::unordered_map<std::uint32_t, UdpRoute> questions_;  // For ids, by transaction.
};

}  // namespace sluice::tracker
