// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tracker/shard.h"
#include "tracker/swarms.h"

namespace sluice::tracker {

Expired Swarms::expire(MonoTime now, std::size_t budget) {
  Expired expired;
  const std::uint32_t oldest = stamp_max(now);
  const MutexLock turn(expiry_mutex_);
  while (budget > 0 && !expired.round_over) {
    Swarm::Expiry expiry{.stamp_max = oldest, .budget = std::min(budget, kExpireStep)};
    budget -= expiry.budget;
    const bool shard_over = expire_in(shards_[cursor_.shard], cursor_, expiry);
    budget += expiry.budget;
    expired.gone.insert(expired.gone.end(), expiry.gone.begin(), expiry.gone.end());
    if (!shard_over) continue;
    cursor_ = {.shard = (cursor_.shard + 1) % kShards};
    expired.round_over = cursor_.shard == 0;
  }
  return expired;
}

// A swarm costs as much of the budget as a peer, so that many small ones are not looked at for
// free.
bool Swarms::expire_in(Shard& shard, Cursor& cursor, Swarm::Expiry& expiry) {
  const MutexLock lock(shard.mutex);
  cursor.swarms_left = std::min(cursor.swarms_left, shard.swarms.size());
  for (; cursor.swarms_left > 0 && expiry.budget > 0; --cursor.swarms_left, cursor.place = {}) {
    const auto at = static_cast<std::uint32_t>(cursor.swarms_left - 1);
    Swarm& swarm = shard.swarms[at];
    const Part before = part_of(swarm);
    const bool swarm_over = swarm.expire(expiry, cursor.place);
    count(before, part_of(swarm));
    if (!swarm_over) return false;
    if (expiry.budget > 0) --expiry.budget;
    if (swarm.size() == 0) shard.remove(at);
  }
  return cursor.swarms_left == 0;
}

}  // namespace sluice::tracker
