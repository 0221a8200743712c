// SPDX-License-Identifier: MIT
#include "retracker/daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "retracker/admin.h"
#include "retracker/forwarders.h"
#include "tracker/snapshot.h"

namespace sluice::cli {
namespace {

using namespace std::chrono_literals;

/// Every peer is looked at within about so many rounds of a second each.
constexpr std::uint64_t kExpiryRounds = 60;
constexpr Duration kDrainTime = 2s;
/// How long upstreams may take to hear that the peers have stopped.
constexpr Duration kFarewellTime = 3s;
constexpr Duration kFarewellStep = 10ms;

tracker::ForwardOptions forward_options(const Settings& settings) {
  tracker::ForwardOptions options;
  options.mode = settings.announce_mode;
  options.queue_capacity = settings.forwarder_queue_size;
  options.upstreams_per_announce_max = settings.max_forwarders_per_announce;
  options.throttle_pct = settings.queue_throttle_threshold;
  options.throttle_top_n = settings.queue_throttle_top_n;
  options.slots_base = settings.forwarder_workers;
  options.slots_max = settings.max_forwarder_workers;
  options.scale_up_pct = settings.queue_scale_threshold_pct;
  options.scale_down_pct = std::min(options.scale_down_pct, options.scale_up_pct);
  options.in_flight_max = settings.in_flight_per_upstream;
  options.in_flight_unproven_max = std::min(options.in_flight_unproven_max, options.in_flight_max);
  options.refuse_when_full = settings.refuse_when_full;
  options.refuse_pct = settings.queue_rate_limit_threshold;
  options.first_rate = {.tokens = settings.rate_limit_initial_per_sec,
                        .per = 1s,
                        .burst = settings.rate_limit_initial_burst};
  options.retry_period = settings.retry_period;
  options.timeout = settings.forward_timeout;
  options.attempts_max = settings.forwarder_retry_attempts;
  options.retry.base = settings.forwarder_retry_base;
  options.suspend = settings.forwarder_suspend;
  options.breaker.failures_in_row = settings.forwarder_fail_threshold;
  options.interval_default = settings.announce_interval;
  return options;
}

/// Whoever may be in flight has a connection, and waits for no other to be closed.
tracker::UpstreamsOptions upstreams_options(const Settings& settings) {
  tracker::UpstreamsOptions options;
  options.http.connections_max = settings.max_forwarder_workers;
  options.http.connections_per_host_max = settings.in_flight_per_upstream;
  return options;
}

tracker::ServiceOptions service_options(const Settings& settings) {
  return {.interval = std::chrono::duration_cast<std::chrono::seconds>(settings.announce_interval),
          .first_reply_wait = settings.first_reply_wait,
          .wanted_max = settings.wanted_max,
          .tracker_id = settings.tracker_id,
          .proxies = settings.proxies,
          .believes_local = settings.ip_from_private};
}

/// "Every address" is that of IPv4 where there is no IPv6.
std::string there_is(const std::string& address) {
  constexpr std::string_view kEvery = "[::]:";
  if (!address.starts_with(kEvery) || access("/proc/self/net/if_inet6", F_OK) == 0) return address;
  return "0.0.0.0:" + address.substr(kEvery.size());
}

net::HttpResponse text_answer(unsigned status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

}  // namespace

Result<Lists> read_lists(const Settings& settings, const LogSink& log) {
  Lists lists;
  if (!settings.forwarders_file.empty()) {
    SLUICE_LET(read, read_forwarders(settings.forwarders_file));
    for (const std::string& warning : read.warnings) log(LogLevel::warning, warning);
    lists.forwarders = std::move(read.forwarders);
  }
  if (!settings.hash_allow_file.empty()) {
    SLUICE_LET(list, tracker::HashList::read(settings.hash_allow_file));
    lists.access = tracker::HashAccess::allow(std::move(list));
  }
  if (!settings.hash_deny_file.empty()) {
    SLUICE_LET(list, tracker::HashList::read(settings.hash_deny_file));
    lists.access = tracker::HashAccess::deny(std::move(list));
  }
  return lists;
}

Daemon::Daemon(const Settings& settings, LogSink log)
    : settings_(settings),
      log_(std::move(log)),
      began_(clock_.mono()),
      login_(settings.stats_user, settings.stats_password),
      quick_random_(random_.next()),
      swarms_({.age = settings.age}, random_) {}

Result<std::unique_ptr<Daemon>> Daemon::open(const Settings& settings, Lists lists, LogSink log) {
  std::unique_ptr<Daemon> daemon(new Daemon(settings, std::move(log)));
  SLUICE_LET(upstreams, tracker::Upstreams::open(upstreams_options(settings)));
  daemon->upstreams_ = std::move(upstreams);
  Daemon* const self = daemon.get();
  daemon->forwarder_ = std::make_unique<tracker::Forwarder>(
      forward_options(settings),
      tracker::Forwarder::Seams{
          .random = &self->quick_random_,
          .transport = self->upstreams_.get(),
          .wake = [self] { self->wake(); },
          .on_peers = [self](const tracker::InfoHash& hash) { self->service_->release(hash); },
          .on_quiet = [self](const tracker::InfoHash& hash) { self->service_->release(hash); }});
  daemon->service_ = std::make_unique<tracker::Service>(
      daemon->swarms_, daemon->forwarder_.get(), service_options(settings),
      tracker::Service::Seams{.random = &self->random_, .wake = [self] { self->wake(); }});
  SLUICE_TRY(daemon->reload(std::move(lists)));
  if (!settings.snapshot_file.empty()) {
    const auto read = tracker::read_snapshot(daemon->swarms_, settings.snapshot_file, self->clock_);
    if (read)
      self->log_(LogLevel::info,
                 fmt::format("{} peers of {} torrents were remembered", read->peers, read->swarms));
    else if (read.error().code() != Code::not_found)
      self->refuse_snapshot(read.error());
  }
  daemon->reporter_ = std::make_unique<Reporter>(
      self->clock_, [self](const StatsAsk& ask) { return self->report(ask); });
  SLUICE_TRY(daemon->listen());
  daemon->engine_ = std::jthread([self](const std::stop_token& stop) { self->run_engine(stop); });
  daemon->housekeeper_ =
      std::jthread([self](const std::stop_token& stop) { self->keep_house(stop); });
  return daemon;
}

Status Daemon::listen() {
  SLUICE_LET(
      http, net::HttpServer::open({.listen = there_is(settings_.listen),
                                   .body_bytes_max = 0,  // No request of a tracker has a body.
                                   .loops = settings_.threads,
                                   .log = log_},
                                  [this](net::Exchange exchange) { handle(std::move(exchange)); }));
  http_ = std::move(http);
  if (settings_.udp_listen.empty()) return {};
  SLUICE_LET(udp, net::UdpServer::open(
                      {.listen = there_is(settings_.udp_listen), .threads = settings_.threads},
                      [this](auto packet, const net::UdpPath& path, auto room) {
                        return service_->answer(packet, path, room);
                      }));
  udp_ = std::move(udp);
  service_->set_udp(udp_.get());
  return {};
}

Status Daemon::reload(Lists lists) {
  SLUICE_TRY(forwarder_->reload(lists.forwarders));
  service_->set_access(std::move(lists.access));
  wake();
  return {};
}

void Daemon::handle(net::Exchange exchange) {
  const net::RequestHead& head = exchange.request().head;
  const std::size_t mark = std::min(head.target.find('?'), head.target.size());
  const std::string_view path = head.target.substr(0, mark);
  const std::string_view query = head.target.substr(std::min(mark + 1, head.target.size()));
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (path.starts_with(kAdminPath)) return answer_admin(std::move(exchange));
  if (head.method != "GET" && head.method != "HEAD")
    return exchange.reply(text_answer(405, "Trackers are asked by GET.\n"));
  if (name == "announce" || name == "announce.php") return service_->announce(std::move(exchange));
  if (name == "scrape" || name == "scrape.php") return service_->scrape(std::move(exchange));
  const bool is_metrics = path == "/metrics" && settings_.prometheus_enabled;
  if (is_metrics || path == "/stats" || path == "/") {
    const std::string_view* authorization = head.find("authorization");
    if (!login_.admits(authorization != nullptr ? *authorization : std::string_view()))
      return exchange.reply(Login::challenge());
    if (!is_metrics) return answer_stats(std::move(exchange), query);
    return reporter_->add(std::move(exchange), {.format = StatsAsk::Format::metrics});
  }
  if (path == "/health") return exchange.reply(text_answer(200, "ok\n"));
  // Some clients ask every tracker for one.
  if (path == "/favicon.ico") return exchange.reply({.status = 204, .content_type = ""});
  exchange.reply(text_answer(404, "There are /announce, /scrape, /stats and /metrics.\n"));
}

void Daemon::answer_admin(net::Exchange exchange) {
  AdminAnswer answer = sluice::cli::answer_admin(exchange.request(), login_, *forwarder_);
  if (!answer.done.empty()) log_(LogLevel::info, answer.done);
  exchange.reply(std::move(answer.response));
}

void Daemon::answer_stats(net::Exchange exchange, std::string_view query) const {
  const std::string_view* accepted = exchange.request().head.find("accept");
  const auto ask = read_stats_ask(query, accepted != nullptr ? *accepted : std::string_view());
  if (!ask) return exchange.reply(text_answer(400, ask.error().message() + "\n"));
  if (ask->format == StatsAsk::Format::page)
    return exchange.reply(
        {.content_type = "text/html; charset=utf-8", .body = std::string(stats_page())});
  reporter_->add(std::move(exchange), *ask);
}

net::HttpResponse Daemon::report(const StatsAsk& ask) const {
  const Overview all = overview(ask.rows);
  if (ask.format == StatsAsk::Format::metrics)
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = stats_metrics(all)};
  if (ask.format == StatsAsk::Format::json) return {.body = stats_json(all)};
  return text_answer(200, stats_text(all));
}

Overview Daemon::overview(std::size_t rows) const {
  Overview all{.settings = &settings_,
               .running = clock_.mono() - began_,
               .service = service_->stats(),
               .times = &service_->times(),
               .totals = swarms_.totals(),
               .forward = forwarder_->insight(),
               .http = http_->stats(),
               .udp = udp_ ? udp_->stats() : net::UdpServerStats()};
  tracker::Tables tables = tables_of(swarms_, service_->agents(), rows);
  for (const tracker::TorrentRow& row : tables.torrents)
    all.largest.push_back({.row = row, .upstream_peers = forwarder_->peers_known(row.hash)});
  all.clients = std::move(tables.clients);
  return all;
}

void Daemon::wake() {
  ++calls_;
  Clock::wake(calls_);
}

void Daemon::run_engine(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const std::uint32_t seen = calls_;
    const MonoTime next = std::min(forwarder_->run_due(), service_->run_due());
    if (!stop.stop_requested()) clock_.wait(calls_, seen, next);
  }
}

void Daemon::keep_house(const std::stop_token& stop) {
  MonoTime snapshot_at = clock_.mono() + settings_.snapshot_interval;
  MonoTime stats_at = clock_.mono() + settings_.stats_interval;
  for (;;) {
    clock_.sleep_for(1s, stop);
    if (stop.stop_requested()) return;
    expire();
    const MonoTime now = clock_.mono();
    if (settings_.snapshot_interval > Duration() && now >= snapshot_at) {
      write_snapshot();
      snapshot_at = now + settings_.snapshot_interval;
    }
    if (settings_.stats_interval > Duration() && now >= stats_at) {
      const tracker::Totals totals = swarms_.totals();
      log_(LogLevel::info,
           fmt::format("{} torrents, {} peers, {} announces forwarded", totals.swarms, totals.peers,
                       forwarder_->insight().jobs.succeeded));
      stats_at = now + settings_.stats_interval;
    }
  }
}

void Daemon::expire() {
  const std::uint64_t peers = swarms_.totals().peers;
  const tracker::Expired expired = swarms_.expire(
      clock_.mono(),
      static_cast<std::size_t>(peers / kExpiryRounds + tracker::Swarms::kExpireStep));
  for (const tracker::GonePeer& gone : expired.gone) forwarder_->peer_gone(gone.hash, gone.id);
}

/// A damaged one makes room for the next. Any other file is of somebody else and stays.
void Daemon::refuse_snapshot(const Status& why) {
  log_(LogLevel::error, "the snapshot is not used: " + why.message());
  if (why.code() == Code::corrupt) {
    const auto aside = tracker::put_snapshot_aside(settings_.snapshot_file, clock_);
    if (aside) return log_(LogLevel::info, "the damaged snapshot is now " + *aside);
    log_(LogLevel::error, aside.error().message());
  }
  log_(LogLevel::error, "no snapshot will be written in this run: the file stays as it is");
  keeps_snapshots_ = false;
}

void Daemon::write_snapshot() {
  if (settings_.snapshot_file.empty() || !keeps_snapshots_) return;
  const auto written = tracker::write_snapshot(swarms_, settings_.snapshot_file, clock_);
  if (!written) log_(LogLevel::error, "no snapshot: " + written.error().message());
}

void Daemon::tell_upstreams_of_the_end() {
  forwarder_->stop_all(kFarewellTime);
  const MonoTime until = clock_.mono() + kFarewellTime;
  while (forwarder_->pending() > 0 && clock_.mono() < until) {
    const std::uint32_t seen = calls_;
    const MonoTime next = forwarder_->run_due();
    // An answer that leaves nothing to do wakes nobody.
    clock_.wait(calls_, seen, std::min(next, clock_.mono() + kFarewellStep));
  }
}

void Daemon::stop() {
  if (std::exchange(stopped_, true) || !http_) return;
  service_->stop_waiting();
  http_->drain(kDrainTime);
  reporter_->stop();
  service_->set_udp(nullptr);
  udp_.reset();
  housekeeper_.request_stop();
  engine_.request_stop();
  wake();
  if (housekeeper_.joinable()) housekeeper_.join();
  if (engine_.joinable()) engine_.join();
  write_snapshot();
  tell_upstreams_of_the_end();
  upstreams_.reset();
}

}  // namespace sluice::cli
