// SPDX-License-Identifier: MIT
#include "worker/report.h"

#include <charconv>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace sluice::worker {
namespace {

constexpr std::string_view kExit = "exit code ";
constexpr std::string_view kSignal = "killed by signal ";
constexpr std::string_view kTimedOut = "timed out: ";

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Duration from_seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

/// The number after `prefix`, if the text begins with both.
std::optional<int> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return {};
  return number;
}

std::string how_it_ended(const Report& report) {
  std::string text;
  if (report.signal != 0)
    text = std::string(kSignal) + std::to_string(report.signal) + " (" +
           signal_name(report.signal) + ")";
  else if (report.exit_code)
    text = std::string(kExit) + std::to_string(*report.exit_code);
  if (report.problem.empty()) return text;
  return text.empty() ? report.problem : text + ": " + report.problem;
}

void read_usage(std::string_view line, Report& report) {
  double wall = 0;
  double user = 0;
  double system = 0;
  std::uint64_t kib = 0;
  std::uint64_t output = 0;
  const int read = std::sscanf(std::string(line).c_str(),
                               "%lf s wall, %lf s user, %lf s system, %" SCNu64 " KiB, %" SCNu64,
                               &wall, &user, &system, &kib, &output);
  if (read != 5) return;
  report.wall = from_seconds(wall);
  report.user = from_seconds(user);
  report.system = from_seconds(system);
  report.rss_bytes = kib * 1024;
  report.output_bytes = output;
}

}  // namespace

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

std::string headline(const Report& report) {
  return (report.timed_out ? std::string(kTimedOut) : std::string()) + how_it_ended(report);
}

std::string to_text(const Report& report) {
  char usage[160];
  std::snprintf(usage, sizeof usage,
                "\n%.3f s wall, %.3f s user, %.3f s system, %" PRIu64 " KiB, %" PRIu64
                " bytes of output",
                seconds(report.wall), seconds(report.user), seconds(report.system),
                report.rss_bytes / 1024, report.output_bytes);
  return headline(report) + usage;
}

Report parse_report(std::string_view text) {
  Report report;
  const auto newline = text.rfind('\n');
  std::string_view head = text.substr(0, newline);
  if (newline != std::string_view::npos) read_usage(text.substr(newline + 1), report);
  if (head.starts_with(kTimedOut)) {
    report.timed_out = true;
    head.remove_prefix(kTimedOut.size());
  }
  const auto code = number_after(head, kExit);
  const auto signal = number_after(head, kSignal);
  if (code) report.exit_code = *code;
  if (signal) {
    report.signal = *signal;
    report.exit_code = 128 + *signal;
  }
  const auto colon = code || signal ? head.find(": ") : std::string_view::npos;
  if (!code && !signal)
    report.problem = head;
  else if (colon != std::string_view::npos)
    report.problem = head.substr(colon + 2);
  return report;
}

}  // namespace sluice::worker
