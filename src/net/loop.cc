// SPDX-License-Identifier: MIT
#include "net/loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <ctime>
#include <utility>

#include "base/wake_ups.h"

namespace sluice::net {
namespace {

std::string http_date(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace

void Loop::start() {
  tick();
  asio::co_spawn(context_, keep_time(), asio::detached);
  thread_ = std::jthread([this] { context_.run(); });
}

void Loop::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
  {
    const MutexLock lock(mutex_);
    over_ = true;
  }
  const std::vector<Watched*> all(watched_.begin(), watched_.end());
  for (Watched* one : all)
    if (watched_.contains(one)) one->abandon();
  // What was posted in time refers to us, and would keep itself alive.
  run_posted();
  context_.restart();
  context_.poll();
}

bool Loop::post(std::function<void()> function) {
  {
    const MutexLock lock(mutex_);
    if (over_) return false;
    posted_.push_back(std::move(function));
    if (posted_.size() > 1) return true;
  }
  // Put off, it must find us alive.
  if (auto self = weak_from_this().lock())
    WakeUps::make([self = std::move(self)] { self->wake(); });
  else
    wake();
  return true;
}

void Loop::wake() {
  asio::post(context_, [this] { run_posted(); });
}

void Loop::run_posted() {
  std::vector<std::function<void()>> all;
  {
    const MutexLock lock(mutex_);
    all.swap(posted_);
  }
  for (const auto& function : all) function();
}

Task<void> Loop::keep_time() {
  Timer timer(context_);
  for (;;) {
    timer.expires_after(kPeriod);
    co_await timer.async_wait(kAwait);
    tick();
  }
}

void Loop::tick() {
  date_ = http_date(clock_.wall());
  // Whatever looks at its deadline may leave the list.
  const std::vector<Watched*> all(watched_.begin(), watched_.end());
  for (Watched* one : all)
    if (watched_.contains(one)) one->look(now());
}

}  // namespace sluice::net
