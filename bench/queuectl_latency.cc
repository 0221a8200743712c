// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "queuectl_parts.h"
#include "queuectl_tools.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPause = 5ms;  // In which the worker falls asleep.
constexpr int kStartMsMax = 10'000;

std::int64_t now_ns() {
  return system_clock().wall().time_since_epoch().count();
}

/// Where jobs write when they began. Held open for writing too, so that it has no end.
Result<Descriptor> open_pipe(const std::string& path) {
  if (mkfifo(path.c_str(), 0600) != 0) return error(Code::io_error, "cannot make " + path);
  Descriptor pipe(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!pipe.valid()) return error(Code::io_error, "cannot open " + path);
  return pipe;
}

Result<std::int64_t> read_stamp(const Descriptor& pipe) {
  pollfd readable{.fd = pipe.get(), .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, kStartMsMax) != 1)
    return error(Code::deadline_exceeded, "a job does not begin");
  std::int64_t ns = 0;
  if (read(pipe.get(), &ns, sizeof ns) != sizeof ns)
    return error(Code::corrupt, "a job wrote something else than a time");
  return ns;
}

/// CPU time of all threads of a process, in nanoseconds, as the scheduler counts it.
std::int64_t cpu_ns_of(pid_t pid) {
  std::int64_t sum = 0;
  std::error_code failure;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), failure)) {
    std::int64_t ns = 0;
    std::ifstream(task.path() / "schedstat") >> ns;
    sum += ns;
  }
  return sum;
}

Status measure_starts(const Part& part, const Program& enqueue, const Descriptor& pipe) {
  std::vector<double> after_end, after_begin;
  for (int i = 0; i < 200; ++i) {
    system_clock().sleep_for(kPause, {});
    const std::int64_t began = now_ns();
    SLUICE_TRY(run_program(enqueue));
    const std::int64_t ended = now_ns();
    SLUICE_LET(started, read_stamp(pipe));
    after_end.push_back(static_cast<double>(std::max<std::int64_t>(0, started - ended)) / 1e6);
    after_begin.push_back(static_cast<double>(started - began) / 1e6);
  }
  const auto p50_p99 = [](const std::vector<double>& ms) {
    return number(median(ms)) + " / " + number(percentile(ms, 0.99));
  };
  part.report.add({.what = "ms from the end of an enqueue to its job's first line, p50 / p99",
                   .ours = p50_p99(after_end),
                   .peer = p50_p99(after_begin) + " (from the start of the enqueue)",
                   .figure = percentile(after_end, 0.99),
                   .bar = Bar{"latency", Bar::Kind::at_most, 50}});
  return {};
}

void measure_idle(const Part& part, pid_t worker) {
  const Duration idle = part.quick ? 5s : 20s;
  system_clock().sleep_for(1s, {});
  const MonoTime began = system_clock().mono();
  const std::int64_t before = cpu_ns_of(worker);
  system_clock().sleep_for(idle, {});
  const auto used = static_cast<double>(cpu_ns_of(worker) - before);
  const auto passed = static_cast<double>((system_clock().mono() - began).count());
  part.report.add(
      {.what = fmt::format("CPU of a worker without work in %, over {} s",
                           std::chrono::duration_cast<std::chrono::seconds>(idle).count()),
       .ours = fmt::format("{:.4f}", 100 * used / passed),
       .figure = 100 * used / passed,
       .bar = Bar{"idle_cpu", Bar::Kind::at_most, 0.1}});
}

}  // namespace

Status measure_latency(const Part& part) {
  SLUICE_LET(tools, Tools::find(part.scratch, "latency"));
  SLUICE_LET(store, tools.make_dir("store"));
  SLUICE_LET(pipe, open_pipe(tools / "pipe"));
  const Program enqueue =
      tools.queuectl(store, {"enqueue", "--", tools.bare(), "stamp", tools / "pipe"});
  SLUICE_LET(worker, Process::start(tools.queuectl(store, {"worker", "start", "--quiet"})));
  SLUICE_TRY(run_program(enqueue));  // The worker is there once this has run.
  SLUICE_TRY(read_stamp(pipe));
  SLUICE_TRY(measure_starts(part, enqueue, pipe));
  measure_idle(part, worker.pid());
  kill(worker.pid(), SIGTERM);
  return status_of(worker.finish());
}

}  // namespace sluice::bench
