// SPDX-License-Identifier: MIT
// Which handler a request belongs to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace sluice::server {

/// A request on its way to its answer.
struct Call {
  net::Exchange exchange;
  /// What stood in the place of each ":name" of the route, decoded.
  std::vector<std::string> parts = {};
  /// Decoded; of a name that is given twice, the last.
  std::map<std::string, std::string, std::less<>> query = {};

  const net::HttpRequest& request() const { return exchange.request(); }
};

using CallHandler = std::function<void(Call call)>;

/// A table of methods and paths. Filled before the first request; then used by any thread.
class Routes {
 public:
  /// "/queue/pop/:team": a part with a colon stands for one segment that is not empty.
  void add(std::string_view method, std::string_view path, CallHandler handler);

  /// Calls the handler, or answers 404, 405 with Allow, or 400 if the address is not
  /// percent-encoded UTF-8.
  void handle(net::Exchange exchange) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;  // Empty for a part that stands for anything.
    CallHandler handler;
  };
  std::vector<Route> routes_;
};

}  // namespace sluice::server
