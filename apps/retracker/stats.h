// SPDX-License-Identifier: MIT
// What retracker shows of itself: the same numbers as text, JSON, a page and metrics.
#pragma once

#include <sluice/clock.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "net/http_server.h"
#include "net/udp_server.h"
#include "retracker/settings.h"
#include "tracker/announce_times.h"
#include "tracker/forward_insight.h"
#include "tracker/service.h"
#include "tracker/swarms.h"
#include "tracker/tables.h"

namespace sluice::cli {

struct TorrentLine {
  tracker::TorrentRow row = {};
  std::size_t upstream_peers = 0;  ///< That upstreams have named.
};

struct Overview {
  const Settings* settings = nullptr;  ///< Of a daemon that is still there.
  Duration running = {};
  tracker::ServiceStats service = {};
  const tracker::AnnounceTimes* times = nullptr;  ///< Of the same.
  tracker::Totals totals = {};
  tracker::ForwardInsight forward = {};
  net::HttpServerStats http = {};
  net::UdpServerStats udp = {};
  std::vector<TorrentLine> largest = {};         ///< Torrents.
  std::vector<tracker::ClientRow> clients = {};  ///< The most frequent.
};

/// Tables for people.
std::string stats_text(const Overview& overview);
std::string stats_json(const Overview& overview);
/// One of its forwarders, as it stands in there.
std::string forwarder_json(const tracker::UpstreamInsight& upstream);
/// The tables of torrents and clients in both: members of an object, and lines.
void write_tables(codec::json::Writer& writer, const Overview& overview);
std::string tables_text(const Overview& overview);
/// HTML that shows the JSON and keeps it fresh.
std::string_view stats_page();
/// For Prometheus.
std::string stats_metrics(const Overview& overview);

}  // namespace sluice::cli
