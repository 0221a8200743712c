// SPDX-License-Identifier: MIT
#include "kv/lmdb/group_commit.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/check.h"
#include "base/futex.h"

namespace sluice::kv {
namespace {

// How long a leader waits at most for callers whom the last commit has just released. Less than a
// sync takes, and only if there were such callers.
constexpr Duration kLingerMax = std::chrono::microseconds(150);

void set_state(std::atomic<std::uint32_t>& state, Request::State value) {
  state.store(value, std::memory_order_release);
  futex_wake(state, INT_MAX);
}

std::uint32_t await_change(const std::atomic<std::uint32_t>& state) {
  std::uint32_t seen = Request::waiting;
  while ((seen = state.load(std::memory_order_acquire)) == Request::waiting)
    futex_wait(state, Request::waiting);
  return seen;
}

}  // namespace

GroupCommit::GroupCommit(std::function<void()> commit_batch, const Clock& clock)
    : commit_batch_(std::move(commit_batch)), clock_(clock) {}

GroupCommit::~GroupCommit() {
  std::jthread server;
  {
    const MutexLock lock(mutex_);
    server.swap(server_);
  }
  if (!server.joinable()) return;
  server.request_stop();
  set_state(server_state_, Request::leading);  // It empties the queue, then ends.
  server.join();
}

Result<Commit> GroupCommit::run(const Body& body, const WriteOptions& options) {
  Request request;
  request.body = &body;
  request.options = options;
  bool lead = false;
  {
    const MutexLock lock(mutex_);
    queue_.push_back(&request);
    lead = !std::exchange(led_, true);
  }
  if (lead || await_change(request.state) == Request::leading) lead_until_finished(request);
  return std::move(request.result);
}

void GroupCommit::submit(Body body, Done done, const WriteOptions& options) {
  auto request = std::make_unique<Request>();
  request->owned_body = std::move(body);
  request->body = &request->owned_body;
  request->done = std::move(done);
  request->options = options;
  const MutexLock lock(mutex_);
  if (!server_.joinable())
    server_ = std::jthread([this](const std::stop_token& stop) { serve_submitted(stop); });
  queue_.push_back(request.release());
  if (!std::exchange(led_, true)) set_state(server_state_, Request::leading);
}

void GroupCommit::lead_until_finished(Request& own) {
  while (own.state.load(std::memory_order_acquire) != Request::finished) commit_batch_();
  pass_lead();
}

void GroupCommit::pass_lead() {
  const MutexLock lock(mutex_);
  if (queue_.empty()) {
    led_ = false;
    return;
  }
  const auto caller = std::find_if(queue_.begin(), queue_.end(),
                                   [](const Request* request) { return !request->submitted(); });
  set_state(caller != queue_.end() ? (*caller)->state : server_state_, Request::leading);
}

void GroupCommit::serve_submitted(const std::stop_token& stop) {
  for (;;) {
    await_change(server_state_);
    server_state_.store(Request::waiting, std::memory_order_relaxed);
    if (stop.stop_requested()) break;
    commit_batch_();
    pass_lead();
  }
  while (!queue_empty()) commit_batch_();
}

bool GroupCommit::queue_empty() {
  const MutexLock lock(mutex_);
  return queue_.empty();
}

Request* GroupCommit::pop() {
  const MutexLock lock(mutex_);
  if (queue_.empty()) return nullptr;
  Request* request = queue_.front();
  queue_.pop_front();
  return request;
}

Request* GroupCommit::take(std::size_t taken) {
  if (taken >= kBatchMax) return nullptr;
  if (taken == 0) linger_until_.reset();
  for (;;) {
    if (Request* request = pop()) return request;
    if (!linger(taken)) return nullptr;
  }
}

// Callers released by one commit come back within microseconds of each other. Without a pause the
// first of them would commit alone, and the others would have to wait for that sync and the next.
bool GroupCommit::linger(std::size_t taken) {
  if (taken == 0 || taken >= expected_) return false;
  const MonoTime now = clock_.mono();
  if (!linger_until_) linger_until_ = now + kLingerMax;
  if (now >= *linger_until_) return false;
  std::this_thread::yield();
  return true;
}

void GroupCommit::finish(const std::vector<Request*>& batch) {
  expected_ = std::max(batch.size(), (expected_ * 3 + batch.size()) / 4);
  for (Request* request : batch) {
    if (request->submitted()) {
      const std::unique_ptr<Request> owned(request);
      owned->done(std::move(owned->result));
    } else {
      set_state(request->state, Request::finished);
    }
  }
}

}  // namespace sluice::kv
