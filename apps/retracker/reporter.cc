// SPDX-License-Identifier: MIT
#include "retracker/reporter.h"

#include <utility>

namespace sluice::cli {

Reporter::Reporter(const Clock& clock, Make make)
    : clock_(clock),
      make_(std::move(make)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Reporter::add(net::Exchange exchange, StatsAsk ask) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back({std::move(exchange), ask});
  }
  wake();
}

void Reporter::wake() {
  ++calls_;
  Clock::wake(calls_);
}

void Reporter::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const std::uint32_t seen = calls_;
    std::vector<Waiting> asked;
    {
      const MutexLock lock(mutex_);
      asked.swap(waiting_);
    }
    if (asked.empty()) clock_.wait(calls_, seen, MonoTime::max());
    for (Waiting& one : asked)
      if (!one.exchange.is_gone()) one.exchange.reply(make_(one.ask));
  }
}

void Reporter::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
  thread_.join();
}

}  // namespace sluice::cli
