// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <cstdio>

#include "codec/json.h"
#include "http_load.h"
#include "http_parts.h"
#include "net/http_server.h"
#include "queue_load.h"
#include "server/answer.h"
#include "server/compat_records.h"
#include "server/service.h"

namespace sluice::bench {
namespace {

constexpr unsigned kConnections = 64;
/// Many short ones: a machine that slows down for a while does so for all three.
constexpr int kRounds = 11;
constexpr const char* kData =
    R"({"url":"https://example.com/some/page","mode":"single_urls","options":{"a":1,"b":[1,2,3]},)"
    R"("text":"text text text text text text text text text text text text text text"})";

std::string push_script() {
  return std::string(R"(
local n = 0
function request()
  n = n + 1
  return wrk.format("POST", "/queue/push", {["content-type"] = "application/json"},
    '{"teamId":"work","job":{"id":"job-' .. n .. '","data":)") +
         kData + R"(,"priority":10,"listenable":true}}')
end
)";
}

/// The queue layer alone, with as many in flight as there are connections.
Result<Work> enqueue_in_flight(const std::string& dir, std::uint64_t count) {
  SLUICE_LET(shop, Shop::open(dir));
  queue::NewJob job{
      .queue = kQueue, .payload = server::encode(server::CompatJob{.data = kData}), .priority = 10};
  std::atomic<std::uint32_t> in_flight = 0;
  FirstFailure failure;
  Work work;
  SLUICE_TRY(work.measure(count, [&]() -> Status {
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint32_t now = in_flight; now >= kConnections; now = in_flight) in_flight.wait(now);
      ++in_flight;
      job.id = "job-" + std::to_string(i);
      shop.store->submit(
          [&queues = *shop.queues, job](kv::Transaction& txn) -> Status {
            queue::Scope scope(queues, txn);
            return status_of(scope.enqueue(job));
          },
          [&](const Result<kv::Commit>& commit) {
            if (!commit) failure.note(commit.error());
            --in_flight;
            in_flight.notify_one();
          });
    }
    for (std::uint32_t now = in_flight; now > 0; now = in_flight) in_flight.wait(now);
    return {};
  }));
  SLUICE_TRY(failure.get());
  return work;
}

struct Round {
  Served sluiced;
  Served bare;
  Work queue;
};

Result<Round> run_round(const Part& part, int number) {
  SLUICE_LET(dir, make_dir(part.scratch, fmt::format("push-{}", number)));
  const Load load{
      .script = push_script(), .connections = kConnections, .seconds = part.quick ? 1U : 2U};
  SLUICE_LET(sluiced, program_beside("sluiced"));
  SLUICE_LET(self, program_beside("bench_http"));
  Round round;
  SLUICE_LET(ours, serve_load(dir,
                              {sluiced, "--listen", "127.0.0.1:0", "--data", dir + "/data",
                               "--log-level", "error"},
                              load));
  SLUICE_LET(bare, serve_load(dir, {self, kBareServerCommand}, load));
  SLUICE_LET(queue, enqueue_in_flight(dir + "/queue", part.quick ? 20'000 : 50'000));
  round.sluiced = ours;
  round.bare = bare;
  round.queue = queue;
  return round;
}

}  // namespace

Status bare_server_process() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  SLUICE_LET(server, net::HttpServer::open(
                         {.listen = "127.0.0.1:0", .loops = server::default_loops()},
                         [](net::Exchange exchange) {
                           const auto body = codec::json::parse(
                               exchange.request().body, {.raw = "data", .round_integers = true});
                           const bool good = body && body->find("job") != nullptr;
                           exchange.reply(good ? server::json_answer(R"({"success":true})")
                                               : server::text_answer(400, "no job"));
                         }));
  std::printf("listening on http://%s\n", server->address().c_str());
  std::fflush(stdout);
  int number = 0;
  sigwait(&set, &number);
  return {};
}

Status measure_push(const Part& part) {
  std::vector<Round> rounds;
  for (int i = 0; i < kRounds; ++i) {
    SLUICE_LET(round, run_round(part, i));
    rounds.push_back(round);
  }
  const auto middle = [&](auto figure) { return number(median_of(rounds, figure)); };
  part.report.add(
      {.what = "POST /queue/push, 64 connections: CPU us of the server",
       .ours = middle([](const Round& r) { return r.sluiced.cpu_us_each(); }),
       .peer = fmt::format("{} (the same without a store), {} (the queue without HTTP)",
                           middle([](const Round& r) { return r.bare.cpu_us_each(); }),
                           middle([](const Round& r) { return r.queue.cpu_us_each(); })),
       .figure = median_of(rounds,
                           [](const Round& r) {
                             return r.sluiced.cpu_us_each() /
                                    (r.bare.cpu_us_each() + 1.3 * r.queue.cpu_us_each());
                           }),
       .bar = Bar{"push_cpu", Bar::Kind::at_most, 1}});
  part.report.add({.what = "  requests/s, wrk on the same two cores",
                   .ours = middle([](const Round& r) { return r.sluiced.per_second(); }),
                   .peer = fmt::format("{} (the same without a store)",
                                       middle([](const Round& r) { return r.bare.per_second(); })),
                   .figure = median_of(rounds, [](const Round& r) {
                     return r.sluiced.per_second() / r.bare.per_second();
                   })});
  return {};
}

}  // namespace sluice::bench
