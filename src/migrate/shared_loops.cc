// SPDX-License-Identifier: MIT
#include "migrate/shared_loops.h"

#include <algorithm>

namespace sluice::migrate {

void SharedLoops::run(std::size_t count, const Body& body) {
  MutexLock lock(mutex_);
  const auto loop = loops_.insert(loops_.end(), {.body = body, .count = count});
  if (count > 1) {
    lock.unlock();
    announce_();
    lock.lock();
  }
  take_part(*loop);
  while (loop->helpers > 0) left_.wait(lock);
  loops_.erase(loop);
}

bool SharedLoops::want_help() {
  const MutexLock lock(mutex_);
  return oldest_open() != nullptr;
}

void SharedLoops::help() {
  MutexLock lock(mutex_);
  Loop* const loop = oldest_open();
  if (loop == nullptr) return;
  ++loop->helpers;
  take_part(*loop);
  // After this the loop may be gone.
  if (--loop->helpers == 0) left_.notify_all();
}

SharedLoops::Loop* SharedLoops::oldest_open() {
  const auto open =
      std::ranges::find_if(loops_, [](const Loop& loop) { return loop.taken < loop.count; });
  return open == loops_.end() ? nullptr : &*open;
}

void SharedLoops::take_part(Loop& loop) {
  while (loop.taken < loop.count) {
    const std::size_t number = loop.taken++;
    mutex_.unlock();
    loop.body(number);
    mutex_.lock();
  }
}

}  // namespace sluice::migrate
