// SPDX-License-Identifier: MIT
#include "kv/lmdb/group_commit.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/futex.h"
#include "base/wake_ups.h"

namespace sluice::kv {
namespace {

// How long a leader waits at most for callers whom the last commit has just released. Less than a
// sync takes, and only if there were such callers.
constexpr Duration kLingerMax = std::chrono::microseconds(150);

void change_and_wake(std::atomic<std::uint32_t>& word, std::uint32_t bits = kFutexAllBits) {
  word.fetch_add(1, std::memory_order_release);
  futex_wake_private(word, bits);
}

}  // namespace

GroupCommit::GroupCommit(std::function<void()> commit_batch)
    : commit_batch_(std::move(commit_batch)) {}

GroupCommit::~GroupCommit() {
  std::jthread server;
  {
    const MutexLock lock(mutex_);
    server.swap(server_);
  }
  if (!server.joinable()) return;
  server.request_stop();
  wake_server();  // It empties the queue, then ends.
  server.join();
}

Result<Commit> GroupCommit::run(const Body& body, const WriteOptions& options) {
  Request request;
  request.body = &body;
  request.options = options;
  if (push(&request) || await(request) == Request::leading) lead_until_finished(request);
  return std::move(request.result);
}

void GroupCommit::submit(Body body, Done done, const WriteOptions& options) {
  auto request = std::make_unique<Request>();
  request->owned_body = std::move(body);
  request->body = &request->owned_body;
  request->done = std::move(done);
  request->options = options;
  {
    const MutexLock lock(mutex_);
    if (!server_.joinable())
      server_ = std::jthread([this](const std::stop_token& stop) { serve_submitted(stop); });
  }
  if (push(request.release())) wake_server();
}

// Returns whether the lead has fallen to the caller.
bool GroupCommit::push(Request* request) {
  bool enough = false;
  bool lead = false;
  {
    const MutexLock lock(mutex_);
    request->round = round_;
    request->bit = std::uint32_t{1} << (pushed_++ % 32);
    queue_.push_back(request);
    lead = !std::exchange(led_, true);
    enough = wanted_ != 0 && queue_.size() >= wanted_;
    if (enough) wanted_ = 0;
  }
  if (enough) {
    arrivals_.fetch_add(1, std::memory_order_release);
    futex_wake(arrivals_);
  }
  return lead;
}

// Sleeps until the leader has set the request's state. The word is read before the state, and
// changed after it: a change between the two cannot be slept through.
std::uint32_t GroupCommit::await(const Request& request) const {
  const auto& round = rounds_[request.round];
  for (;;) {
    const std::uint32_t seen = round.load(std::memory_order_acquire);
    const std::uint32_t state = request.state.load(std::memory_order_acquire);
    if (state != Request::waiting) return state;
    futex_wait_private(round, seen, request.bit);
  }
}

void GroupCommit::lead_until_finished(const Request& own) {
  while (own.state.load(std::memory_order_relaxed) != Request::finished) commit_batch_();
  pass_lead();
}

void GroupCommit::pass_lead() {
  std::uint32_t round = 0;
  std::uint32_t bit = 0;
  {
    const MutexLock lock(mutex_);
    if (queue_.empty()) {
      led_ = false;
      return;
    }
    const auto next = std::find_if(queue_.begin(), queue_.end(),
                                   [](const Request* request) { return !request->submitted(); });
    if (next != queue_.end()) {
      round = (*next)->round;
      bit = (*next)->bit;
      (*next)->state.store(Request::leading, std::memory_order_release);
    }
  }
  // The bit keeps the others asleep, but for the few that share it.
  if (bit != 0)
    change_and_wake(rounds_[round], bit);
  else
    wake_server();
}

void GroupCommit::wake_server() {
  change_and_wake(server_calls_);
}

void GroupCommit::serve_submitted(const std::stop_token& stop) {
  for (std::uint32_t served = 0; !stop.stop_requested();) {
    if (server_calls_.load(std::memory_order_acquire) == served) {
      futex_wait_private(server_calls_, served, kFutexAllBits);
      continue;
    }
    ++served;
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
  if (taken == 0) lingered_ = false;
  Request* request = taken < kBatchMax ? pop() : nullptr;
  if (request == nullptr && linger(taken)) request = pop();
  if (request == nullptr) {
    const MutexLock lock(mutex_);
    round_ ^= 1;
  }
  return request;
}

// Callers released by one commit come back within microseconds of each other. Without a pause the
// first of them would commit alone, and the others would have to wait for that sync and the next.
bool GroupCommit::linger(std::size_t taken) {
  if (taken == 0 || taken >= expected_ || std::exchange(lingered_, true)) return false;
  const std::uint32_t seen = arrivals_.load(std::memory_order_acquire);
  {
    const MutexLock lock(mutex_);
    const std::size_t wanted = expected_ - taken;
    if (queue_.size() >= wanted) return true;
    wanted_ = wanted;
  }
  futex_wait(arrivals_, seen, kLingerMax);
  const MutexLock lock(mutex_);
  wanted_ = 0;
  return true;
}

void GroupCommit::finish(const std::vector<Request*>& batch) {
  expected_ = std::max(batch.size(), (expected_ * 3 + batch.size()) / 4);
  std::array<bool, 2> sleeping{};
  std::vector<std::unique_ptr<Request>> submitted;
  for (Request* request : batch) {
    if (request->submitted()) {
      submitted.emplace_back(request);
    } else {
      sleeping[request->round] = true;
      request->state.store(Request::finished, std::memory_order_release);
    }
  }
  for (std::size_t round = 0; round < sleeping.size(); ++round)
    if (sleeping[round]) change_and_wake(rounds_[round]);
  const WakeUps at_the_end;
  for (const auto& request : submitted) request->done(std::move(request->result));
}

}  // namespace sluice::kv
