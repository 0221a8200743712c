// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdio>

#include "cli/service.h"
#include "retracker/context.h"
#include "retracker/daemon.h"

namespace sluice::cli {
namespace {

/// SIGHUP has the lists read again; any other signal ends it.
void wait_for_end(const sigset_t& set, Daemon& daemon, const Context& context) {
  for (int number = 0; sigwait(&set, &number) == 0 && number == SIGHUP;) {
    auto lists = read_lists(context.settings(), context.log());
    const Status read = lists ? daemon.reload(std::move(*lists)) : lists.error();
    context.log()(read.ok() ? LogLevel::info : LogLevel::error,
                  read.ok() ? "forwarders and access lists were read again"
                            : "forwarders and access lists stay as they were: " + read.message());
  }
}

}  // namespace

Result<int> serve(Context& context, const Arguments& /*arguments*/) {
  const sigset_t set = block_signals();
  raise_descriptor_limit();
  SLUICE_LET(lists, read_lists(context.settings(), context.log()));
  SLUICE_LET(daemon, Daemon::open(context.settings(), std::move(lists), context.log()));
  std::printf("listening on http://%s\n", daemon->http_address().c_str());
  if (const std::string udp = daemon->udp_address(); !udp.empty())
    std::printf("listening on udp://%s\n", udp.c_str());
  std::fflush(stdout);
  wait_for_end(set, *daemon, context);
  daemon->stop();
  context.log()(LogLevel::info, "stopped");
  return 0;
}

}  // namespace sluice::cli
