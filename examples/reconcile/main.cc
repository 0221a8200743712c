// SPDX-License-Identifier: MIT
// Parse, call, print, exit code. README.md shows it all at work.
#include <fstream>
#include <iostream>

#include "cli/help.h"
#include "run.h"

namespace reconcile {

const cli::Command kCommand = {
    "",
    "",
    "submit FILE | run | results",
    "compares what affiliates report with what platforms know",
    R"(  submit FILE   puts in reports, one JSON object a line; - is standard input
  run           asks the platforms and writes results, until Ctrl-C
  results       prints them, one JSON object a line)",
    {{"--data", 0, "DIR", "where everything is kept; default reconcile.store"},
     {"--drain", 0, "", "run until every report has its last word", cli::Takes::nothing},
     {"--url", 0, "URL", "posts are at URL/PLATFORM/posts/POST"},
     {"--missing-retry", 0, "TIME", "ask again for a missing post after this; default 30m"},
     {"--missing-retries", 0, "N", "how often; then it is UNVERIFIABLE; default 3"},
     {"--call-time", 0, "TIME", "give a call up after this; default 5s"},
     {"--cooldown", 0, "TIME", "leave a failing platform alone for this; default 30s"},
     {"--rate", 0, "N", "calls to one platform in a second; default 200"}},
    cli::Takes::text};

Status submit_file(queue::Queues& queues, const std::string& name) {
  std::ifstream file(name);
  std::istream& from = name == "-" ? std::cin : file;
  if (!from) return error(Code::not_found, "name a file of reports, or - for standard input");
  std::vector<Report> reports;
  for (std::string line; std::getline(from, line);) {
    auto report = parse_report(line);
    if (!report) return report.error().with("line", std::to_string(reports.size() + 1));
    reports.push_back(std::move(*report));
  }
  std::size_t fresh = 0;
  for (std::size_t at = 0; at < reports.size(); at += kBatchMax) {
    SLUICE_LET(added, submit(queues, std::span(reports).subspan(
                                         at, std::min(kBatchMax, reports.size() - at))));
    fresh += added;
  }
  std::printf("%zu reports submitted, %zu were there already\n", fresh, reports.size() - fresh);
  return {};
}

/// How many reports of each platform have come to each verdict.
Status print_summary(kv::Store& store) {
  std::map<std::string, std::map<std::string, int>> tally;
  SLUICE_TRY(read_results(store, [&](std::string_view, std::string_view result) {
    const auto value = json::parse(result);
    ++tally[*member<std::string>(*value, "platform")][*member<std::string>(*value, "verdict")];
    return true;
  }));
  std::printf("PLATFORM           MATCHED  DISCREPANCY  UNVERIFIABLE  MISSING\n");
  for (auto& [platform, of] : tally)
    std::printf("%-14s%12d%13d%14d%9d\n", cli::visible(platform).c_str(), of["MATCHED"],
                of["DISCREPANCY"], of["UNVERIFIABLE"], of["MISSING"]);
  return {};
}

Status run(queue::Queues& queues, const cli::Arguments& given) {
  const auto url = given.text("--url");
  if (!url) return error(Code::invalid_argument, "say where the platforms are: --url URL");
  SLUICE_LET(retry, given.duration("--missing-retry"));
  SLUICE_LET(retries, given.number("--missing-retries", 0, 1'000));
  SLUICE_LET(call_time, given.duration("--call-time"));
  SLUICE_LET(cooldown, given.duration("--cooldown"));
  SLUICE_LET(rate, given.number("--rate", 1, 1'000'000));
  const runtime::BreakerPolicy policy{.cooldown = cooldown.value_or(30s)};
  SLUICE_TRY(validate(policy));
  sigset_t signals = {};
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Before there are threads that could get them.
  SLUICE_LET(http, net::HttpClient::open({.connections_per_host_max = kWorkers}));
  Run run{.queues = queues,
          .http = *http,
          .url = url->ends_with('/') ? url->substr(0, url->size() - 1) : *url,
          .call_time = call_time.value_or(5s),
          .missing_retry = retry.value_or(30min),
          .missing_retries = retries.value_or(3),
          .drain = given.has("--drain"),
          .breakers = runtime::Breakers({.policy = policy}),
          .limiter = runtime::Limiter({.limit = {static_cast<std::uint64_t>(rate.value_or(200))}})};
  SLUICE_TRY(run.work(signals));
  SLUICE_TRY(print_summary(queues.store()));
  if (run.open == 0 || !run.drain) return {};
  return error(Code::cancelled, std::to_string(run.open) + " reports are left: run it again");
}

Status start(const std::vector<std::string>& line) {
  SLUICE_LET(given, cli::Arguments::parse(kCommand, line));
  const std::vector<std::string>& words = given.words();
  if (words.empty() || given.has("--help")) {
    std::fputs(command_help(kCommand).c_str(), stdout);
    return {};
  }
  const bool submits = words[0] == "submit";
  if (words.size() != (submits ? 2 : 1) || !(submits || words[0] == "run" || words[0] == "results"))
    return error(Code::invalid_argument, "reconcile --help tells what it can do: not this");
  SLUICE_LET(store, kv::open_lmdb({.dir = given.text("--data").value_or("reconcile.store")}));
  SLUICE_LET(queues, queue::Queues::open(*store));
  if (submits) return submit_file(*queues, words[1]);
  if (!queues->get_queue(kQueue))
    return error(Code::not_found, "no reports there yet: reconcile submit FILE puts them in");
  if (words[0] == "run") return run(*queues, given);
  SLUICE_TRY(read_results(*store, [](std::string_view, std::string_view result) {
    return static_cast<bool>(std::cout << result << "\n");
  }));
  return std::cout.flush() ? Status() : error(Code::io_error, "cannot write: is the disk full?");
}

}  // namespace reconcile

std::span<const sluice::cli::Option> sluice::cli::global_options() {
  static constexpr std::array<Option, 1> kHelp{{{"--help", 'h', "", "print this", Takes::nothing}}};
  return kHelp;
}

std::string_view sluice::cli::program_name() {
  return "reconcile";
}

int main(int argc, char** argv) {
  const sluice::Status status = reconcile::start({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "reconcile: %s\n", sluice::cli::visible(status.message()).c_str());
  return sluice::code_info(status.code()).exit_code;
}
