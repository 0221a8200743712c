// SPDX-License-Identifier: MIT
// Which handler a request belongs to.
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "net/http.h"
#include "server/access.h"

namespace sluice::server {

/// What a request must be allowed to do, and on which queues.
struct Need {
  enum class On : std::uint8_t {
    nothing,    ///< No queue in particular.
    part,       ///< The queue that is the first ":name" of the path.
    body,       ///< The handler finds them in the body, and checks them by Call::check().
    everything  ///< All queues.
  };
  May may = May::admin;
  On on = On::everything;
};

/// For routes that need no token at all.
inline constexpr std::optional<Need> kOpen = std::nullopt;

/// A request on its way to its answer.
struct Call {
  net::Exchange exchange;
  /// Of the token that came with it; null where none is needed.
  std::shared_ptr<Grant> grant = {};
  /// For the jobs that it brings: used when they are in. Goes before the grant.
  Room room = {};
  /// What stood in the place of each ":name" of the route, decoded.
  std::vector<std::string> parts = {};
  /// Decoded; of a name that is given twice, the last.
  std::map<std::string, std::string, std::less<>> query = {};

  const net::HttpRequest& request() const { return exchange.request(); }

  /// Whether this may be done with this queue. `not_found` for a queue of others, whether there is
  /// such a one or not: nobody learns about those.
  Status check(May may, std::string_view queue) const;
};

using CallHandler = std::function<void(Call call)>;

/// What was asked of one route, and how it was answered.
struct RouteStats {
  std::string method = {};
  std::string path = {};  ///< As the route was added; empty for what has no route.
  Histogram time_ns = {};
  /// By the first digit of the status.
  std::array<std::atomic<std::uint64_t>, 6> answers = {};
};

/// A table of methods and paths. Filled before the first request; then used by any thread.
class Routes {
 public:
  explicit Routes(const Access& access, LogSink log = {});

  /// "/queue/pop/:team": a part with a colon stands for one segment that is not empty.
  void add(std::string_view method, std::string_view path, std::optional<Need> need,
           CallHandler handler);

  /// Every answer below /v1/ has the X-Request-Id of its request, or a new one; one of 500 or more
  /// is logged with it.
  ///
  /// Calls the handler, or answers 404, 405 with Allow, 400 if the address is not percent-encoded
  /// UTF-8; 401 without a token where one is needed, 403 or 404 if it is not good for this, 429 if
  /// its rate is used up.
  void handle(net::Exchange exchange) const;

  /// Of every route, in the order in which they were added; last, of what has none.
  std::vector<const RouteStats*> stats() const;

 private:
  struct Route {
    std::vector<std::string> segments;  // Empty for a part that stands for anything.
    std::optional<Need> need;
    CallHandler handler;
    std::unique_ptr<RouteStats> stats;
  };
  struct Match {
    const Route* route = nullptr;
    std::string allowed = {};  // The methods that the path has, if it has no route.
  };
  Match find(std::string_view method, const std::vector<std::string_view>& segments) const;
  net::Exchange observed(net::Exchange exchange, RouteStats& stats) const;
  std::string request_id(const net::HttpRequest& request) const;
  std::shared_ptr<Grant> grant_of(const net::RequestHead& head) const;
  bool admit(Call& call, const Need& need) const;

  const Access& access_;
  const LogSink log_;
  const std::string id_begin_;  // So that ids of two runs differ.
  mutable std::atomic<std::uint64_t> id_next_ = 0;
  std::vector<Route> routes_;
  std::unique_ptr<RouteStats> nowhere_ = std::make_unique<RouteStats>();
};

}  // namespace sluice::server
