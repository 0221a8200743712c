// SPDX-License-Identifier: MIT
#include <sluice/kv.h>
#include <sluice/log.h>
#include <sluice/queue.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "net/http_server.h"
#include "server/service.h"

namespace sluice {
namespace {

constexpr Duration kDrainTime = std::chrono::seconds(25);

struct Options {
  std::string listen = "127.0.0.1:3100";
  std::string data = "./data";
  Duration compat_lease = std::chrono::seconds(60);
};

int fail(const Status& status) {
  std::fprintf(stderr, "sluiced: %s\n", status.message().c_str());
  return code_info(status.code()).exit_code;
}

Result<Options> parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i + 1 == words.size())
      return error(Code::invalid_argument, words[i] + " needs a value, or is unknown");
    if (words[i] == "--listen") {
      options.listen = words[++i];
    } else if (words[i] == "--data") {
      options.data = words[++i];
    } else if (words[i] == "--compat-lease") {
      options.compat_lease = std::chrono::seconds(std::stoi(words[++i]));
    } else {
      return error(Code::invalid_argument, "there is no option " + words[i]);
    }
  }
  return options;
}

/// Blocks them in all threads, so that wait_for_end() gets them.
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

Status serve(const Options& options) {
  const sigset_t set = block_signals();
  SLUICE_LET(store, kv::open_lmdb({.dir = options.data, .log = stderr_log()}));
  SLUICE_LET(queues, queue::Queues::open(*store));
  server::Service service(*queues, {.compat = {.lease = options.compat_lease, .log = stderr_log()},
                                    .log = stderr_log()});
  const std::jthread housekeeper([&](const std::stop_token& stop) { service.keep_house(stop); });
  SLUICE_LET(server, net::HttpServer::open(
                         {.listen = options.listen, .log = stderr_log()},
                         [&](net::Exchange exchange) { service.handle(std::move(exchange)); }));
  std::printf("listening on http://%s\n", server->address().c_str());
  std::fflush(stdout);
  int number = 0;
  sigwait(&set, &number);
  server->drain(kDrainTime);
  return {};
}

int start(const std::vector<std::string>& words) {
  const auto options = parse(words);
  if (!options) return fail(options.error());
  const Status served = serve(*options);
  return served.ok() ? 0 : fail(served);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  return sluice::start(std::vector<std::string>(argv + 1, argv + argc));
}
