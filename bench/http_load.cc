// SPDX-License-Identifier: MIT
#include "http_load.h"

#include <sluice/clock.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice::bench {
namespace {

constexpr const char* kPath = "PATH=/usr/bin:/bin";

std::string read_all(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Result<std::string> wait_for_address(const std::string& path) {
  constexpr std::string_view kBegin = "listening on ";
  for (int i = 0; i < 1'000; ++i) {
    const std::string text = read_all(path);
    const std::size_t end = text.find('\n');
    if (text.starts_with(kBegin) && end != std::string::npos)
      return text.substr(kBegin.size(), end - kBegin.size());
    system_clock().sleep_for(std::chrono::milliseconds(10), {});
  }
  return error(Code::unavailable, "the server does not say where it listens");
}

/// "  106858 requests in 8.07s, 15.08MB read"
Result<Served> parse_wrk(const std::string& text) {
  const std::size_t at = text.find(" requests in ");
  if (at == std::string::npos || text.find("Non-2xx") != std::string::npos)
    return error(Code::unavailable, "wrk: " + text);
  const std::size_t begin = text.find_last_not_of("0123456789", at - 1) + 1;
  Served served;
  std::from_chars(text.data() + begin, text.data() + at, served.requests);
  served.wall_seconds = std::stod(text.substr(at + 13));
  return served;
}

}  // namespace

Result<std::string> make_dir(const ScratchDir& scratch, const std::string& name) {
  std::error_code problem;
  const auto path = std::filesystem::absolute(scratch / name, problem);
  if (!problem) std::filesystem::create_directories(path, problem);
  if (problem) return error(Code::unavailable, "cannot make a directory: " + problem.message());
  return path.string();
}

Result<std::string> program_beside(const std::string& name) {
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
    return error(Code::unavailable, "cannot tell where this program is");
  const std::string self = path;
  return self.substr(0, self.rfind('/') + 1) + name;
}

Result<Server> Server::start(const std::string& dir, const std::vector<std::string>& words) {
  SLUICE_LET(process,
             Process::start({.words = words, .environment = {kPath}, .output = dir + "/server"}));
  SLUICE_LET(url, wait_for_address(dir + "/server"));
  return Server{.process = std::move(process), .url = std::move(url)};
}

Result<Cost> Server::stop() {
  kill(process.pid(), SIGTERM);
  return process.finish();
}

Result<Server> start_sluiced(const std::string& dir, const std::string& data) {
  SLUICE_LET(sluiced, program_beside("sluiced"));
  return Server::start(
      dir, {sluiced, "--listen", "127.0.0.1:0", "--data", data, "--log-level", "error"});
}

Result<Served> run_wrk(const std::string& dir, const std::string& url, const Load& load) {
  const std::string script = dir + "/load.lua";
  std::ofstream(script) << load.script;
  SLUICE_TRY(run_program({.words = {"wrk", "-t1", "-c" + std::to_string(load.connections),
                                    "-d" + std::to_string(load.seconds) + "s", "-s", script, url},
                          .environment = {kPath},
                          .output = dir + "/wrk"}));
  return parse_wrk(read_all(dir + "/wrk"));
}

Result<Served> serve_load(const std::string& dir, const std::vector<std::string>& words,
                          const Load& load) {
  SLUICE_LET(server, Server::start(dir, words));
  SLUICE_LET(served, run_wrk(dir, server.url, load));
  SLUICE_LET(cost, server.stop());
  served.cpu_seconds = cost.cpu_seconds;
  return served;
}

}  // namespace sluice::bench
