// SPDX-License-Identifier: MIT
#include "tracker/late_replies.h"

#include <utility>

namespace sluice::tracker {

bool LateReplies::add(const InfoHash& hash, MonoTime until, Reply reply) {
  const MutexLock lock(mutex_);
  if (by_time_.size() >= kWaitingMax) return false;
  by_hash_.emplace(hash, by_time_.emplace(until, Waiting{hash, std::move(reply)}));
  return true;
}

void LateReplies::release(const InfoHash& hash) {
  std::vector<Reply> due;
  {
    const MutexLock lock(mutex_);
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto i = first; i != last; ++i) {
      due.push_back(std::move(i->second->second.reply));
      by_time_.erase(i->second);
    }
    by_hash_.erase(first, last);
  }
  for (const Reply& reply : due) reply();
}

MonoTime LateReplies::run_due(MonoTime now) {
  std::vector<Reply> due;
  MonoTime next = MonoTime::max();
  {
    const MutexLock lock(mutex_);
    while (!by_time_.empty() && by_time_.begin()->first <= now) {
      const auto first = by_time_.begin();
      auto named = by_hash_.find(first->second.hash);
      while (named->second != first) ++named;
      by_hash_.erase(named);
      due.push_back(std::move(first->second.reply));
      by_time_.erase(first);
    }
    if (!by_time_.empty()) next = by_time_.begin()->first;
  }
  for (const Reply& reply : due) reply();
  return next;
}

std::size_t LateReplies::size() const {
  const MutexLock lock(mutex_);
  return by_time_.size();
}

}  // namespace sluice::tracker
