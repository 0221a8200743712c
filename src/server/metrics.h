// SPDX-License-Identifier: MIT
// What sluiced measures, as text for Prometheus. docs/operations/metrics.md lists the names.
#pragma once

#include <sluice/queue.h>
#include <sluice/result.h>

#include <functional>
#include <string>

#include "net/http_server.h"
#include "server/routes.h"

namespace sluice::server {

/// Queues beyond this, by name, have no figures of their own.
inline constexpr std::size_t kMeasuredQueuesMax = 1'000;

/// What is shown besides what the store and its queues tell.
struct Measured {
  const Routes& routes;
  const Access::Limited& limited;
  std::uint64_t lapsed = 0;  ///< Leases that ran out.
  const std::function<net::HttpServerStats()>& server;
};
Result<std::string> metrics_text(queue::Queues& queues, const Measured& measured);

}  // namespace sluice::server
