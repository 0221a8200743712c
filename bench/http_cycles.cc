// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "http_cycle.h"
#include "http_load.h"
#include "http_parts.h"
#include "queue_load.h"

namespace sluice::bench {
namespace {

constexpr unsigned kWorkers = 64;

struct Spread {
  double p50 = 0;
  double p99 = 0;

  double ratio() const { return p99 / p50; }
};
Spread spread_of(const std::vector<double>& samples) {
  return {.p50 = percentile(samples, 0.5), .p99 = percentile(samples, 0.99)};
}

/// What the disk does by itself: four kilobytes and a sync, again and again.
Result<Spread> sync_alone(const std::string& file, unsigned seconds) {
  const Descriptor fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string page(4096, 'x');
  const Clock& clock = system_clock();
  const MonoTime until = clock.mono() + std::chrono::seconds(seconds);
  std::vector<double> ms;
  for (MonoTime began = clock.mono(); began < until; began = clock.mono()) {
    if (::pwrite(fd.get(), page.data(), page.size(), 0) != 4096 || ::fdatasync(fd.get()) != 0)
      return error(Code::io_error, "cannot write " + file);
    ms.push_back(std::chrono::duration<double, std::milli>(clock.mono() - began).count());
  }
  return spread_of(ms);
}

struct Round {
  Spread ours;
  Spread bare;
  double cycles_per_second = 0;
};

}  // namespace

Status measure_cycles(const Part& part) {
  const unsigned seconds = part.quick ? 2 : 5;
  std::vector<Round> rounds;
  for (int i = 0; i < 3; ++i) {
    SLUICE_LET(dir, make_dir(part.scratch, fmt::format("cycles-{}", i)));
    SLUICE_LET(bare, sync_alone(dir + "/page", seconds));
    SLUICE_LET(server, start_sluiced(dir, dir + "/data"));
    SLUICE_LET(cycles, run_cycles(server.url, kWorkers, seconds));
    SLUICE_TRY(server.stop());
    rounds.push_back({.ours = spread_of(cycles.request_ms),
                      .bare = bare,
                      .cycles_per_second = static_cast<double>(cycles.count) / seconds});
  }
  const auto middle = [&](auto figure) { return number(median_of(rounds, figure)); };
  part.report.add(
      {.what = "push, pop, complete by 64 workers: p99 / p50 of an answer",
       .ours = middle([](const Round& r) { return r.ours.ratio(); }),
       .peer = middle([](const Round& r) { return r.bare.ratio(); }) + " (a loop of bare syncs)",
       .figure = median_of(rounds, [](const Round& r) { return r.ours.ratio() / r.bare.ratio(); }),
       .bar = Bar{"cycle_spread", Bar::Kind::at_most, 3}});
  part.report.add({.what = "  p50 ms",
                   .ours = middle([](const Round& r) { return r.ours.p50; }),
                   .peer = middle([](const Round& r) { return r.bare.p50; })});
  part.report.add({.what = "  jobs/s, the workers on the same two cores",
                   .ours = middle([](const Round& r) { return r.cycles_per_second; })});
  return {};
}

}  // namespace sluice::bench
