// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <sluice/queue.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "cli/service.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "server/service.h"
#include "server/tokens.h"
#include "sluiced/context.h"

namespace sluice::cli {
namespace {

/// SIGHUP has certificates and tokens read again; any other signal ends it.
void wait_for_end(const sigset_t& set, net::HttpServer& server, server::Service& service,
                  const LogSink& log) {
  const auto tell = [&](const std::string& what, const Status& read) {
    log(read.ok() ? LogLevel::info : LogLevel::error,
        what + (read.ok() ? " were read again" : " stay as they were: " + read.message()));
  };
  for (int number = 0; sigwait(&set, &number) == 0 && number == SIGHUP;) {
    tell("certificates", server.reload_tls());
    tell("tokens", service.refresh_tokens());
  }
}

/// A store that is not there is not made for this.
Result<bool> has_tokens(const Context& context) {
  const auto store = context.open_existing_store();
  if (!store && store.error().code() == Code::not_found) return false;
  SLUICE_TRY(store);
  SLUICE_LET(version, server::read_tokens_version(**store));
  return !version.empty();
}

net::HttpServerOptions server_options(const Context& context) {
  const Settings& settings = context.settings();
  return {.listen = settings.listen,
          .tls = {.certificate = settings.tls_certificate, .key = settings.tls_key},
          .body_bytes_max = settings.body_bytes_max,
          .connections_max = settings.connections_max,
          .connections_per_address_max = settings.connections_max,
          .loops = settings.loops != 0 ? settings.loops : server::default_loops(),
          .log = context.log()};
}

}  // namespace

Result<int> serve(Context& context, const Arguments& /*arguments*/) {
  const sigset_t set = block_signals();
  const Settings& settings = context.settings();
  SLUICE_TRY(check_exposure(settings, [&] { return has_tokens(context); }));
  // Large bodies go back to the system when they are done with, whatever came before them.
  mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  raise_descriptor_limit();
  SLUICE_LET(store, context.open_store());
  SLUICE_LET(queues, queue::Queues::open(*store));
  server::Service service(*queues, {.compat = {.lease = settings.compat_lease},
                                    .verify = [&] { return verify_report(settings); },
                                    .log = context.log()});
  SLUICE_TRY(service.refresh_tokens());
  SLUICE_LET(loopback, net::is_loopback(settings.listen));
  if (!loopback && !settings.allow_anonymous) service.require_tokens();
  SLUICE_LET(server, net::HttpServer::open(server_options(context), [&](net::Exchange exchange) {
               service.handle(std::move(exchange));
             }));
  service.show_server([&server] { return server->stats(); });
  const std::jthread housekeeper([&](const std::stop_token& stop) { service.keep_house(stop); });
  const char* const scheme = settings.tls_certificate.empty() ? "http" : "https";
  const bool local = server->address().starts_with("unix:");
  std::printf("listening on %s%s%s\n", local ? "" : scheme, local ? "" : "://",
              server->address().c_str());
  std::fflush(stdout);
  context.log()(LogLevel::info, "serving " + settings.data + " on " + server->address());
  wait_for_end(set, *server, service, context.log());
  service.stop_waiting();
  const bool all = server->drain(settings.drain_time);
  context.log()(LogLevel::info,
                all ? "stopped" : "stopped; requests that took too long were cut off");
  return 0;
}

}  // namespace sluice::cli
