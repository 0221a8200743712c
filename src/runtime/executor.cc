// SPDX-License-Identifier: MIT
#include <sluice/runtime/executor.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>

#include "base/mutex.h"

namespace sluice::runtime {
namespace {

/// Longer than any program runs.
constexpr Duration kForever = std::chrono::hours(24 * 365 * 10);
constexpr std::size_t kThreadNameMax = 15;  // The kernel's limit.

}  // namespace

struct ThreadExecutor::State {
  struct Thread {
    std::atomic<bool> finished{false};
    std::jthread thread = {};
  };
  Mutex mutex;
  std::list<Thread> threads SLUICE_GUARDED_BY(mutex);
};

ThreadExecutor::ThreadExecutor() : state_(std::make_unique<State>()) {}

ThreadExecutor::~ThreadExecutor() {
  // A loop may start another one up to its end: the list is joined until it stays empty.
  for (;;) {
    std::list<State::Thread> threads;
    {
      const MutexLock lock(state_->mutex);
      threads.swap(state_->threads);
    }
    if (threads.empty()) return;
  }
}

void ThreadExecutor::start(Loop loop) {
  const MutexLock lock(state_->mutex);
  std::erase_if(state_->threads, [](const State::Thread& thread) {
    return thread.finished.load(std::memory_order_acquire);
  });
  State::Thread& thread = state_->threads.emplace_back();
  thread.thread = std::jthread([&thread, loop = std::move(loop)] {
    pthread_setname_np(pthread_self(), loop.name.substr(0, kThreadNameMax).c_str());
    while (loop.step(kForever) != LoopStep::finished) {
    }
    thread.finished.store(true, std::memory_order_release);
  });
}

}  // namespace sluice::runtime
