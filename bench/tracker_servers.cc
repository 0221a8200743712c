// SPDX-License-Identifier: MIT
#include "tracker_servers.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sluice/clock.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>

#include "base/descriptor.h"
#include "udp_load.h"

namespace sluice::bench {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// One that was free for both protocols a moment ago.
Result<std::uint16_t> free_port() {
  for (int i = 0; i < 100; ++i) {
    const Descriptor stream(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Descriptor datagrams(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(stream.get(), any, size) == 0 && getsockname(stream.get(), any, &size) == 0 &&
        bind(datagrams.get(), any, size) == 0)
      return ntohs(address.sin_port);
  }
  return error(Code::unavailable, "no port is free");
}

Status wait_for_server(std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  for (int i = 0; i < 1'000; ++i) {
    const Descriptor one(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(one.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return {};
    system_clock().sleep_for(std::chrono::milliseconds(10), {});
  }
  return error(Code::unavailable, "the tracker does not listen");
}

/// It reads the list while it serves already, and refuses what is on it until then.
Status wait_for_list(const Tracker& tracker, const Crowd& crowd) {
  for (int i = 0; i < 1'000; ++i) {
    SLUICE_LET(load, UdpLoad::connect(tracker.port));
    if (load.enter({.first = crowd.first})) return {};
    system_clock().sleep_for(std::chrono::milliseconds(10), {});
  }
  return error(Code::unavailable, "opentracker does not serve what is on its list");
}

Result<Tracker> start(Program program, std::uint16_t port) {
  program.environment = {"PATH=/usr/bin:/bin"};
  SLUICE_LET(process, Process::start(program));
  SLUICE_TRY(wait_for_server(port));
  return Tracker{.process = std::move(process), .port = port};
}

}  // namespace

Result<Tracker> start_retracker(const std::string& dir, const std::vector<std::string>& words) {
  SLUICE_LET(port, free_port());
  SLUICE_LET(retracker, program_beside("retracker"));
  const std::string address = fmt::format("127.0.0.1:{}", port);
  Program program{.words = {retracker, "-l", address, "-u", address},
                  .output = dir + "/retracker",
                  .errors = dir + "/retracker.log"};
  program.words.insert(program.words.end(), words.begin(), words.end());
  return start(std::move(program), port);
}

Result<Tracker> start_opentracker(const std::string& dir, const std::vector<Crowd>& crowds) {
  SLUICE_LET(port, free_port());
  // As root it changes its root to the directory, and itself to somebody who may read less.
  chmod(dir.c_str(), 0755);
  std::ofstream list(dir + "/list");
  for (const Crowd& crowd : crowds) list << list_of(crowd);
  list.close();
  std::ofstream conf(dir + "/conf");
  conf << fmt::format(
      "listen.tcp 127.0.0.1:{0}\nlisten.udp 127.0.0.1:{0}\n"
      "access.whitelist list\ntracker.rootdir {1}\ntracker.user nobody\n",
      port, dir);
  conf.close();
  if (!list || !conf) return error(Code::io_error, "cannot write into " + dir);
  SLUICE_LET(tracker, start({.words = {"opentracker", "-f", dir + "/conf"},
                             .output = dir + "/opentracker",
                             .errors = dir + "/opentracker.log"},
                            port));
  SLUICE_TRY(wait_for_list(tracker, crowds.front()));
  return Tracker(std::move(tracker));
}

}  // namespace sluice::bench
