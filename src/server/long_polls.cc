// SPDX-License-Identifier: MIT
#include "server/long_polls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/tuple.h"

namespace sluice::server {
namespace {

// How often those who wait are asked whether their clients are still there.
constexpr Duration kStep = std::chrono::seconds(1);

}  // namespace

struct LongPolls::Standing {
  Waiter waiter;
  WallTime until = {};
};

struct LongPolls::Line {
  // Guarded by the mutex of all lines. Only the thread takes away, so what it looks at stays.
  std::deque<Standing> standing;
  std::stop_source step;     // Of the claim that is waiting now,
  WallTime step_until = {};  // which ends then at the latest.
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
  if (!waiter.request.operation.empty()) operations_.insert(waiter.request.operation);
  line.standing.push_back({std::move(waiter), until});
  if (until < line.step_until) line.step.request_stop();
  if (!line.thread.joinable())
    line.thread = std::jthread([this, key = std::move(key), &line](const std::stop_token& stop) {
      serve(key, line, stop);
    });
  return true;
}

void LongPolls::serve(const std::string& key, Line& line, const std::stop_token& stop) {
  for (;;) {
    std::vector<Standing> over;
    std::optional<queue::ClaimRequest> request;
    {
      const MutexLock lock(mutex_);
      over = take_over(line, stop.stop_requested());
      if (line.standing.empty() && over.empty()) {
        // Nobody can find the line any more; its thread is joined by whoever comes next.
        const auto own = lines_.find(key);
        ended_.push_back(std::move(own->second));
        lines_.erase(own);
        return;
      }
      if (!line.standing.empty()) request = next_claim(line);
    }
    for (const Standing& one : over) one.waiter.done(std::vector<queue::Lease>());
    if (!request) continue;
    auto leases = queues_.claim(*request);
    // Nothing before the time is over is what a call gets that was made before, and whose leases
    // are no longer held.
    const bool before = leases && leases->empty() && !request->operation.empty() &&
                        !request->stop.stop_requested() && queues_.store().now() < line.step_until;
    if (leases && leases->empty() && !before) continue;
    Standing served;
    {
      const MutexLock lock(mutex_);
      served = std::move(line.standing.front());
      line.standing.pop_front();
      forget(served);
    }
    served.waiter.done(std::move(leases));
  }
}

/// Those whose time is over, or whose client has left; all of them at the end.
std::vector<LongPolls::Standing> LongPolls::take_over(Line& line, bool all) {
  std::vector<Standing> over;
  const WallTime now = queues_.store().now();
  std::deque<Standing> rest;
  for (Standing& one : line.standing)
    if (all || one.until <= now || one.waiter.is_gone())
      over.push_back(std::move(one));
    else
      rest.push_back(std::move(one));
  line.standing = std::move(rest);
  for (const Standing& one : over) forget(one);
  return over;
}

void LongPolls::forget(const Standing& one) {
  const auto found = operations_.find(one.waiter.request.operation);
  if (found != operations_.end()) operations_.erase(found);
}

void LongPolls::give_up(const std::string& operation) {
  const MutexLock lock(mutex_);
  if (!operations_.contains(operation)) return;
  for (const auto& [key, line] : lines_)
    for (Standing& one : line->standing)
      if (one.waiter.request.operation == operation) {
        one.until = WallTime::min();
        line->step.request_stop();
      }
}

/// That of the first, until somebody's time is over.
queue::ClaimRequest LongPolls::next_claim(Line& line) const {
  const WallTime now = queues_.store().now();
  line.step_until = now + kStep;
  for (const Standing& one : line.standing) line.step_until = std::min(line.step_until, one.until);
  line.step = std::stop_source();
  queue::ClaimRequest request = line.standing.front().waiter.request;
  request.wait = std::max(line.step_until - now, Duration{});
  request.stop = line.step.get_token();
  return request;
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
    for (auto& [key, line] : lines_) {
      line->thread.request_stop();
      line->step.request_stop();
    }
  }
  // They serve whoever stands there, without waiting, and leave.
  for (bool all = false; !all; std::this_thread::yield()) {
    join_ended();
    const MutexLock lock(mutex_);
    all = lines_.empty() && ended_.empty();
  }
}

}  // namespace sluice::server
