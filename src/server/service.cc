// SPDX-License-Identifier: MIT
#include "server/service.h"

#include <algorithm>

#include "server/answer.h"

namespace sluice::server {
namespace {

constexpr unsigned kErrandThreads = 2;
constexpr Duration kRestMax = std::chrono::seconds(1);
// After a failure; the store may be full or busy.
constexpr Duration kRestAfterFailure = std::chrono::seconds(5);

}  // namespace

Service::Service(queue::Queues& queues, ServiceOptions options)
    : queues_(queues),
      options_(std::move(options)),
      errands_(kErrandThreads),
      compat_(queues, errands_, options_.compat) {
  routes_.add("GET", "/health", [this](Call call) { health(std::move(call)); });
  compat_.add_to(routes_);
}

void Service::health(Call call) {
  const Status read = queues_.store().read(
      [](kv::Reader& reader) -> Status { return status_of(reader.get("health")); });
  net::HttpResponse answer =
      json_answer(read.ok() ? R"({"status":"ok","fdbConnected":true})"
                            : R"({"status":"degraded","fdbConnected":false})");
  if (!read.ok()) answer.status = 503;
  call.exchange.reply(std::move(answer));
}

void Service::keep_house(const std::stop_token& stop) {
  while (!stop.stop_requested()) options_.clock->sleep_for(tidy_up(), stop);
}

/// How long there is nothing more to do.
Duration Service::tidy_up() {
  const auto swept = queues_.sweep();
  const auto markers = compat_.remove_old_markers();
  if (!swept || !markers) {
    const Status& why = swept ? markers.error() : swept.error();
    if (options_.log) options_.log(LogLevel::warning, "cannot tidy up: " + why.message());
    return kRestAfterFailure;
  }
  if (swept->moved() > 0 || *markers > 0) return Duration{};
  if (!swept->next) return kRestMax;
  return std::clamp(*swept->next - queues_.store().now(), Duration{}, kRestMax);
}

}  // namespace sluice::server
