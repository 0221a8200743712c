// SPDX-License-Identifier: MIT
#include "server/service.h"

#include <algorithm>
#include <thread>

#include "server/answer.h"
#include "server/metrics.h"

namespace sluice::server {
namespace {

constexpr unsigned kErrandThreads = 2;
constexpr Duration kRestMax = std::chrono::seconds(1);
// After a failure; the store may be full or busy.
constexpr Duration kRestAfterFailure = std::chrono::seconds(5);

// A housekeeper that has not come back for so long is stuck in the store.
constexpr Duration kWellTime = std::chrono::seconds(10);

}  // namespace

unsigned default_loops() {
  return std::max(2U, std::thread::hardware_concurrency()) - 1;
}

Service::Service(queue::Queues& queues, ServiceOptions options)
    : queues_(queues),
      options_(std::move(options)),
      access_(queues, *options_.clock),
      work_(access_, errands_, failure_answer),
      compat_(access_, errands_, options_.compat),
      v1_(access_, errands_, options_.verify),
      routes_(access_, options_.log),
      well_at_(options_.clock->mono()),
      errands_(kErrandThreads) {
  routes_.add("GET", "/health", kOpen, [this](Call call) { health(std::move(call)); });
  routes_.add("GET", "/metrics", Need{May::admin, Need::On::everything},
              [this](Call call) { metrics(std::move(call)); });
  compat_.add_to(routes_);
  v1_.add_to(routes_);
}

// The store is not asked here: if it hangs, so would the answer.
void Service::health(Call call) const {
  const bool well = options_.clock->mono() - well_at_.load() < kWellTime;
  net::HttpResponse answer = json_answer(well ? R"({"status":"ok","fdbConnected":true})"
                                              : R"({"status":"degraded","fdbConnected":false})");
  if (!well) answer.status = 503;
  call.exchange.reply(std::move(answer));
}

void Service::metrics(Call call) {
  work_.look_up(std::move(call), [this]() -> Result<net::HttpResponse> {
    SLUICE_LET(text, metrics_text(queues_, {routes_, access_.limited(), lapsed_, server_stats_}));
    return net::HttpResponse{.content_type = "text/plain; version=0.0.4", .body = std::move(text)};
  });
}

void Service::keep_house(const std::stop_token& stop) {
  while (!stop.stop_requested()) options_.clock->sleep_for(tidy_up(), stop);
}

/// How long there is nothing more to do.
Duration Service::tidy_up() {
  // Not later than after a second, whoever was let in or shut out meanwhile.
  if (const Status read = access_.refresh(); !read.ok() && options_.log)
    options_.log(LogLevel::warning, "tokens stay as they were: " + read.message());
  const auto swept = queues_.sweep();
  const auto markers = compat_.remove_old_markers();
  if (!swept || !markers) {
    const Status& why = swept ? markers.error() : swept.error();
    if (options_.log) options_.log(LogLevel::warning, "cannot tidy up: " + why.message());
    well_at_ = MonoTime{};  // Long ago.
    return kRestAfterFailure;
  }
  well_at_ = options_.clock->mono();
  lapsed_ += swept->lapsed;
  if (swept->moved() > 0 || *markers > 0) return Duration{};
  if (!swept->next) return kRestMax;
  return std::clamp(*swept->next - queues_.store().now(), Duration{}, kRestMax);
}

}  // namespace sluice::server
