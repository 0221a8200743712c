// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <fstream>

#include "http_cycle.h"
#include "http_load.h"
#include "http_parts.h"
#include "queue_load.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kIdle = 2'000;
constexpr std::size_t kPolls = 500;
constexpr unsigned kWorkers = 8;
constexpr const char* kPoll = R"({"queues":["nothing comes here"],"wait_ms":300000})";

/// Of the process, without what it shares with files.
Result<double> memory_kib(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8));
  return error(Code::unavailable, "/proc does not tell how much memory the server has");
}

struct Round {
  double alone_ms = 0;
  double beside_ms = 0;
  double kib_each = 0;
};

Result<double> p99_ms(const Server& server, unsigned seconds) {
  SLUICE_LET(cycles, run_cycles(server.url, kWorkers, seconds));
  return percentile(cycles.request_ms, 0.99);
}

Result<Round> run_round(const std::string& dir, unsigned seconds) {
  SLUICE_LET(server, start_sluiced(dir, dir + "/data"));
  SLUICE_TRY(run_cycles(server.url, kWorkers, 1));  // What it needs once it has then.
  Round round;
  SLUICE_LET(alone, p99_ms(server, seconds));
  SLUICE_LET(before, memory_kib(server.process.pid()));
  std::vector<Caller> crowd;
  for (std::size_t i = 0; i < kIdle; ++i) {
    SLUICE_LET(caller, Caller::connect(server.url));
    SLUICE_TRY(caller.call("GET", "/health", ""));
    crowd.push_back(std::move(caller));
  }
  SLUICE_LET(after, memory_kib(server.process.pid()));
  for (std::size_t i = 0; i < kPolls; ++i) {
    SLUICE_LET(caller, Caller::connect(server.url));
    SLUICE_TRY(caller.send("POST", "/v1/claim", kPoll));
    crowd.push_back(std::move(caller));
  }
  SLUICE_LET(beside, p99_ms(server, seconds));
  crowd.clear();
  SLUICE_LET(alone_again, p99_ms(server, seconds));
  round.alone_ms = (alone + alone_again) / 2;
  round.beside_ms = beside;
  round.kib_each = (after - before) / kIdle;
  SLUICE_TRY(server.stop());
  return round;
}

}  // namespace

Status measure_idle(const Part& part) {
  std::vector<Round> rounds;
  for (int i = 0; i < 7; ++i) {
    SLUICE_LET(dir, make_dir(part.scratch, fmt::format("idle-{}", i)));
    SLUICE_LET(round, run_round(dir, part.quick ? 2 : 4));
    rounds.push_back(round);
  }
  const auto middle = [&](auto figure) { return number(median_of(rounds, figure)); };
  part.report.add(
      {.what = "p99 ms of an answer beside 2,000 idle connections and 500 claims that wait",
       .ours = middle([](const Round& r) { return r.beside_ms; }),
       .peer = middle([](const Round& r) { return r.alone_ms; }) + " (without them)",
       .figure = median_of(rounds, [](const Round& r) { return r.beside_ms / r.alone_ms; }),
       .bar = Bar{"idle_p99", Bar::Kind::at_most, 1.2}});
  part.report.add({.what = "memory of an idle connection, KiB",
                   .ours = middle([](const Round& r) { return r.kib_each; }),
                   .figure = median_of(rounds, [](const Round& r) { return r.kib_each; }),
                   .bar = Bar{"idle_kib", Bar::Kind::at_most, 16}});
  return {};
}

}  // namespace sluice::bench
