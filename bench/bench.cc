// SPDX-License-Identifier: MIT
#include "bench.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace sluice::bench {
namespace {

constexpr const char* kDefaultMarkdown = "docs/benchmarks.md";

void print_help(const std::string& name) {
  fmt::print(
      "bench_{0}: measures {0} against its peers in one run and prints a table, then one line per\n"
      "target: bar NAME FIGURE TARGET ok|short. Exit code 1 if one is short, 2 if it cannot "
      "run.\n\n"
      "  --quick          less time per measurement: under 40 s altogether\n"
      "  --dir DIR        put the scratch directory there (default: here); it is removed at the "
      "end\n"
      "  --markdown FILE  write the table into FILE between its {0}:begin and {0}:end marks; a "
      "full\n"
      "                   run does so with {1} if that is there; - for no file\n"
      "  --help           this text\n",
      name, kDefaultMarkdown);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

CommandLine parse_command_line(const std::string& name, const std::vector<std::string>& args) {
  Options options;
  std::optional<std::string> markdown;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool has_value = i + 1 < args.size();
    if (args[i] == "--help" || args[i] == "-h") {
      print_help(name);
      return {.exit_code = 0};
    }
    if (args[i] == "--quick") {
      options.quick = true;
    } else if (args[i] == "--dir" && has_value) {
      options.dir = args[++i];
    } else if (args[i] == "--markdown" && has_value) {
      markdown = args[++i];
    } else {
      fmt::print(stderr, "bench_{}: what is '{}'? See --help\n", name, args[i]);
      return {.exit_code = 2};
    }
  }
  std::error_code ignored;
  if (markdown)
    options.markdown = *markdown == "-" ? "" : *markdown;
  else if (!options.quick && std::filesystem::exists(kDefaultMarkdown, ignored))
    options.markdown = kDefaultMarkdown;
  return {.options = options};
}

Result<ScratchDir> ScratchDir::make(const std::string& parent) {
  std::string path = parent + "/bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return error(Code::io_error, "cannot make " + path + ": " + std::strerror(errno));
  return ScratchDir(path);
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Stopwatch::Stopwatch() : wall_start_(system_clock().mono()), cpu_start_(cpu_seconds()) {}

Cost Stopwatch::read() const {
  const std::chrono::duration<double> wall = system_clock().mono() - wall_start_;
  return {.wall_seconds = wall.count(), .cpu_seconds = cpu_seconds() - cpu_start_};
}

double percentile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  const auto rank = std::lround(std::ceil(share * static_cast<double>(samples.size())));
  const auto place = samples.begin() + std::max(rank, 1L) - 1;
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

}  // namespace sluice::bench
