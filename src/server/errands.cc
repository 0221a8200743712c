// SPDX-License-Identifier: MIT
#include "server/errands.h"

#include <utility>

namespace sluice::server {

Errands::Errands(unsigned threads, std::size_t waiting_max) : waiting_max_(waiting_max) {
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

Errands::~Errands() {
  {
    const MutexLock lock(mutex_);  // Nobody is between looking and waiting.
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  changed_.notify_all();
}

bool Errands::run(std::function<void()>&& errand) {
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= waiting_max_) return false;
    waiting_.push_back(std::move(errand));
  }
  changed_.notify_one();
  return true;
}

void Errands::work(const std::stop_token& stop) {
  for (;;) {
    std::function<void()> next;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stop.stop_requested()) changed_.wait(lock);
      if (waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next();
  }
}

}  // namespace sluice::server
