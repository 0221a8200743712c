// SPDX-License-Identifier: MIT
// The trackers that bench_tracker compares, in processes of their own.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "http_load.h"
#include "program.h"
#include "tracker_crowd.h"

namespace sluice::bench {

/// HTTP and UDP on the same port of 127.0.0.1. Killed when this object goes.
struct Tracker {
  Process process;
  std::uint16_t port = 0;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port) + "/"; }
};

/// The retracker beside this program. `dir` is for what it prints.
Result<Tracker> start_retracker(const std::string& dir, const std::vector<std::string>& words = {});
/// Debian's opentracker, which serves only these torrents. It has `dir` for itself.
Result<Tracker> start_opentracker(const std::string& dir, const std::vector<Crowd>& crowds);

}  // namespace sluice::bench
