// SPDX-License-Identifier: MIT
// What retracker shows of itself: the same numbers as text, JSON, a page and metrics.
#pragma once

#include <sluice/clock.h>

#include <string>
#include <string_view>

#include "net/http_server.h"
#include "net/udp_server.h"
#include "tracker/announce_times.h"
#include "tracker/forward_insight.h"
#include "tracker/service.h"
#include "tracker/swarms.h"

namespace sluice::cli {

struct Overview {
  Duration running = {};
  tracker::ServiceStats service = {};
  const tracker::AnnounceTimes* times = nullptr;  ///< Of a daemon that is still there.
  tracker::Totals totals = {};
  tracker::ForwardInsight forward = {};
  net::HttpServerStats http = {};
  net::UdpServerStats udp = {};
};

/// Tables for people.
std::string stats_text(const Overview& overview);
std::string stats_json(const Overview& overview);
/// HTML that shows the JSON and keeps it fresh.
std::string_view stats_page();
/// For Prometheus.
std::string stats_metrics(const Overview& overview);

}  // namespace sluice::cli
