// SPDX-License-Identifier: MIT
#include "migrate/fresh_listings.h"

#include <utility>

namespace sluice::migrate {

void FreshListings::put(FolderId id, Fresh fresh) {
  const std::size_t more = bytes_of(fresh);
  const MutexLock lock(mutex_);
  const auto [at, is_new] = all_.try_emplace(id);
  if (!is_new) bytes_ -= bytes_of(at->second);
  at->second = std::move(fresh);
  bytes_ += more;
  order_.push_back(id);
  while (bytes_ > kBytesMax || order_.size() > kBytesMax / kAroundBytes) forget_oldest();
}

std::optional<FreshListings::Fresh> FreshListings::take(FolderId id) {
  const MutexLock lock(mutex_);
  const auto found = all_.find(id);
  if (found == all_.end()) return std::nullopt;
  Fresh fresh = std::move(found->second);
  bytes_ -= bytes_of(fresh);
  all_.erase(found);
  return fresh;
}

void FreshListings::forget_oldest() {
  const auto oldest = all_.find(order_.front());
  order_.pop_front();
  if (oldest == all_.end()) return;
  bytes_ -= bytes_of(oldest->second);
  all_.erase(oldest);
}

}  // namespace sluice::migrate
