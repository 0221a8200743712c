// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "net/http_client.h"
#include "tracker/upstream_target.h"
#include "tracker_parts.h"
#include "tracker_servers.h"
#include "udp_load.h"

namespace sluice::bench {
namespace {

constexpr Crowd kCrowd{.hashes = 1'000, .peers = 50};
constexpr unsigned kConnections = 16;

/// Fails unless the tracker answers an announce with as many peers as are wanted.
Status check_answer(const Tracker& tracker) {
  SLUICE_LET(client, net::HttpClient::open({}));
  SLUICE_LET(answer, client->call({.url = tracker::upstream_target(tracker.url() + "announce",
                                                                   announce_of(kCrowd.first, 0))}));
  const std::string wanted = fmt::format("5:peers{}:", kWanted * tracker::kCompactBytes4);
  if (answer.body.find(wanted) != std::string::npos) return {};
  return error(Code::corrupt, "the tracker answers without peers: " + answer.body);
}

struct Contender {
  Tracker tracker;
  std::string dir;

  static Result<Contender> make(Result<Tracker> started, const std::string& dir) {
    SLUICE_LET(tracker, std::move(started));
    SLUICE_LET(load, UdpLoad::connect(tracker.port));
    SLUICE_TRY(load.enter(kCrowd));
    SLUICE_TRY(check_answer(tracker));
    return Contender{std::move(tracker), dir};
  }
  Result<Served> serve(const Part& part, const std::string& headers) {
    SLUICE_LET(before, tracker.process.cpu_used());
    SLUICE_LET(served, run_wrk(dir, tracker.url(),
                               {.script = wrk_script_of(kCrowd, headers),
                                .connections = kConnections,
                                .seconds = part.quick ? 1U : 4U}));
    SLUICE_LET(after, tracker.process.cpu_used());
    served.cpu_seconds = after - before;
    return served;
  }
};

struct Round {
  Served kept;
  Served closed;
  Served theirs;
};

}  // namespace

Status measure_http(const Part& part) {
  SLUICE_LET(dir, make_dir(part.scratch, "http"));
  SLUICE_LET(dir_peer, make_dir(part.scratch, "http-peer"));
  SLUICE_LET(ours, Contender::make(start_retracker(dir, {"--set", "threads=1"}), dir));
  SLUICE_LET(theirs, Contender::make(start_opentracker(dir_peer, {kCrowd}), dir_peer));
  std::vector<Round> rounds(part.quick ? 3 : 5);
  for (Round& round : rounds) {
    SLUICE_LET(kept, ours.serve(part, ""));
    SLUICE_LET(peer, theirs.serve(part, ""));
    SLUICE_LET(closed, ours.serve(part, "connection = 'close'"));
    round = {kept, closed, peer};
  }
  const auto us = [&](Served Round::* which) {
    return number(median_of(rounds, [&](const Round& r) { return (r.*which).cpu_us_each(); }));
  };
  const auto ratio = [&](Served Round::* of) {
    return median_of(
        rounds, [&](const Round& r) { return (r.*of).cpu_us_each() / r.theirs.cpu_us_each(); });
  };
  const std::string peer = us(&Round::theirs) + " (opentracker, which closes every connection)";
  part.report.add({.what = "HTTP announce, 16 connections that stay: CPU us of the tracker",
                   .ours = us(&Round::kept),
                   .peer = peer,
                   .figure = ratio(&Round::kept),
                   .bar = Bar{"http_keep_alive", Bar::Kind::at_most, 0.5}});
  part.report.add({.what = "  a connection for each",
                   .ours = us(&Round::closed),
                   .peer = peer,
                   .figure = ratio(&Round::closed)});
  return {};
}

}  // namespace sluice::bench
