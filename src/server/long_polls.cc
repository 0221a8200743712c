// SPDX-License-Identifier: MIT
#include "server/long_polls.h"

#include <algorithm>
#include <utility>

#include "codec/tuple.h"

namespace sluice::server {
namespace {

// How often the one who waits is asked whether its client is still there.
constexpr Duration kStep = std::chrono::seconds(1);

}  // namespace

struct LongPolls::Standing {
  Waiter waiter;
  WallTime until = {};
};

struct LongPolls::Line {
  std::deque<Standing> standing;  // Guarded by the mutex of all lines.
  std::jthread thread;
};

LongPolls::LongPolls(queue::Queues& queues) : queues_(queues) {}

LongPolls::~LongPolls() {
  stop();
}

std::string LongPolls::key_of(const queue::ClaimRequest& request) {
  codec::TupleWriter key;
  for (const auto* names : {&request.queues, &request.skip_groups}) {
    key.begin_nested();
    for (const std::string& name : *names) key.string(name);
    key.end_nested();
  }
  return key.take();
}

bool LongPolls::add(Waiter& waiter) {
  join_ended();
  std::string key = key_of(waiter.request);
  const MutexLock lock(mutex_);
  if (stopped_) return false;
  auto found = lines_.find(key);
  if (found == lines_.end()) {
    if (lines_.size() >= kLinesMax) return false;
    found = lines_.emplace(key, std::make_unique<Line>()).first;
  }
  Line& line = *found->second;
  const WallTime until = queues_.store().now() + waiter.request.wait;
  line.standing.push_back({std::move(waiter), until});
  if (!line.thread.joinable())
    line.thread = std::jthread([this, key = std::move(key), &line](const std::stop_token& stop) {
      serve(key, line, stop);
    });
  return true;
}

void LongPolls::serve(const std::string& key, Line& line, const std::stop_token& stop) {
  for (;;) {
    Standing next;
    {
      const MutexLock lock(mutex_);
      if (line.standing.empty()) {
        // Nobody can find the line any more; its thread is joined by whoever comes next.
        const auto own = lines_.find(key);
        ended_.push_back(std::move(own->second));
        lines_.erase(own);
        return;
      }
      next = std::move(line.standing.front());
      line.standing.pop_front();
    }
    claim_for(std::move(next), stop);
  }
}

void LongPolls::claim_for(Standing standing, const std::stop_token& stop) {
  queue::ClaimRequest& request = standing.waiter.request;
  request.stop = stop;
  for (;;) {
    if (standing.waiter.is_gone()) return standing.waiter.done(std::vector<queue::Lease>());
    const Duration left = std::max(standing.until - queues_.store().now(), Duration{});
    request.wait = std::min(left, kStep);
    auto leases = queues_.claim(request);
    if (!leases || !leases->empty() || left <= kStep || stop.stop_requested())
      return standing.waiter.done(std::move(leases));
  }
}

void LongPolls::join_ended() {
  std::vector<std::unique_ptr<Line>> ended;
  const MutexLock lock(mutex_);
  ended.swap(ended_);
}

void LongPolls::stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    for (auto& [key, line] : lines_) line->thread.request_stop();
  }
  // They serve whoever stands there, without waiting, and leave.
  for (bool all = false; !all; std::this_thread::yield()) {
    join_ended();
    const MutexLock lock(mutex_);
    all = lines_.empty() && ended_.empty();
  }
}

}  // namespace sluice::server
