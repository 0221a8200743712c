// SPDX-License-Identifier: MIT
// The tracker at work: its servers, the forward engine, and what is done now and then.
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/random.h>
#include <sluice/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>
#include <thread>
#include <vector>

#include "net/http_server.h"
#include "net/udp_server.h"
#include "retracker/login.h"
#include "retracker/reporter.h"
#include "retracker/settings.h"
#include "retracker/stats.h"
#include "tracker/forwarder.h"
#include "tracker/service.h"
#include "tracker/swarms.h"
#include "tracker/upstreams.h"

namespace sluice::cli {

/// What a file of settings points to, and a signal has read again.
struct Lists {
  std::vector<tracker::UpstreamConfig> forwarders = {};
  tracker::HashAccess access = {};
};
Result<Lists> read_lists(const Settings& settings, const LogSink& log);

/// Lifecycle: open() answers at once; stop() or the destructor ends it.
class Daemon {
 public:
  /// Reads the snapshot, if there is one. One that is damaged is told and put aside; a file that is
  /// no snapshot is told and never written to.
  static Result<std::unique_ptr<Daemon>> open(const Settings& settings, Lists lists, LogSink log);
  ~Daemon() { stop(); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Jobs of forwarders that stay are kept.
  Status reload(Lists lists);
  /// Answers what waits, tells upstreams that the peers have stopped, writes the snapshot.
  void stop();

  const std::string& http_address() const { return http_->address(); }
  /// Empty without UDP.
  std::string udp_address() const { return udp_ ? udp_->address() : std::string(); }

 private:
  Daemon(const Settings& settings, LogSink log);

  Status listen();
  void handle(net::Exchange exchange);
  void answer_admin(net::Exchange exchange);
  void answer_stats(net::Exchange exchange, std::string_view query) const;
  net::HttpResponse report(const StatsAsk& ask) const;
  /// With tables of so many rows.
  Overview overview(std::size_t rows) const;
  void wake();
  void run_engine(const std::stop_token& stop);
  void keep_house(const std::stop_token& stop);
  void expire();
  void refuse_snapshot(const Status& why);
  void write_snapshot();
  void tell_upstreams_of_the_end();

  const Settings settings_;
  const LogSink log_;
  const Clock& clock_ = system_clock();
  const MonoTime began_;
  const Login login_;
  SystemRandom random_;
  SeededRandom quick_random_;  ///< Of the forwarder, which draws for every upstream and announce.
  tracker::Swarms swarms_;
  std::unique_ptr<tracker::Upstreams> upstreams_;
  std::unique_ptr<tracker::Forwarder> forwarder_;
  std::unique_ptr<tracker::Service> service_;
  std::unique_ptr<net::UdpServer> udp_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<Reporter> reporter_;
  std::atomic<std::uint32_t> calls_ = 0;
  std::jthread engine_;
  std::jthread housekeeper_;
  bool keeps_snapshots_ = true;
  bool stopped_ = false;
};

}  // namespace sluice::cli
