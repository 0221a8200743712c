// SPDX-License-Identifier: MIT
#include "queue/shared.h"

#include <cstring>

#include "queue/names.h"

namespace sluice::queue {

Shared::Shared(kv::Store& store, Random* random) : store_(store), random_(random) {
  MutexLock lock(mutex_);
  if (random_ == nullptr) random_ = &system_random_;
  const std::uint64_t halves[] = {random_->next(), random_->next()};
  std::memcpy(process_.bytes.data(), halves, sizeof halves);
}

double Shared::draw_unit() {
  MutexLock lock(mutex_);
  return random_->unit();
}

std::uint64_t Shared::draw_below(std::uint64_t bound) {
  MutexLock lock(mutex_);
  return random_->below(bound);
}

std::string Shared::next_ulid(Millis now) {
  MutexLock lock(mutex_);
  if (now > ulid_ms_) {
    ulid_ms_ = now;
    // The top bit stays clear, so that counting on within a millisecond has room.
    ulid_high_ = static_cast<std::uint16_t>(random_->next() & 0x7fff);
    ulid_low_ = random_->next();
  } else if (++ulid_low_ == 0) {
    ++ulid_high_;
  }
  return ulid(ulid_ms_, ulid_high_, ulid_low_);
}

Shared::Claimers Shared::claimers(const Bytes16& queue) {
  MutexLock lock(mutex_);
  return claimers_[queue];
}

void Shared::set_claimers(const Bytes16& queue, Claimers claimers) {
  MutexLock lock(mutex_);
  claimers_[queue] = std::move(claimers);
}

std::string queue_bell(const Bytes16& queue) {
  return "sluice/" + std::string(queue.view());
}

}  // namespace sluice::queue
