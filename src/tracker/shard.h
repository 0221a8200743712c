// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/random.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "tracker/announce.h"
#include "tracker/seeded_hash.h"
#include "tracker/slot_index.h"
#include "tracker/swarm.h"
#include "tracker/swarms.h"

namespace sluice::tracker {

/// Chance for windows into swarms: a few instructions, and guessable.
class QuickRandom final : public Random {
 public:
  explicit QuickRandom(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t next() override {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::uint64_t state_;
};

/// The swarms behind one lock. On cache lines of its own, as neighbours belong to other threads.
struct alignas(64) Swarms::Shard {
  Mutex mutex;
  std::uint64_t seed = 0;  // Set before it is shared.
  std::vector<Swarm> swarms SLUICE_GUARDED_BY(mutex);
  SlotIndex index SLUICE_GUARDED_BY(mutex);
  QuickRandom random SLUICE_GUARDED_BY(mutex);

  /// Null if it is not there. `hashed` is what seeded_hash() makes of `hash`. Pointers are good
  /// until a swarm is added or removed.
  Swarm* find(const InfoHash& hash, std::uint64_t hashed)
      SLUICE_ANNOTATE(requires_capability(mutex));
  /// The hash must not be there.
  Swarm& add(const InfoHash& hash, std::uint64_t hashed)
      SLUICE_ANNOTATE(requires_capability(mutex));
  /// Only this swarm and the last change places.
  void remove(std::uint32_t at) SLUICE_ANNOTATE(requires_capability(mutex));
  std::uint32_t place_of(const Swarm& swarm) const SLUICE_ANNOTATE(requires_capability(mutex)) {
    return static_cast<std::uint32_t>(&swarm - swarms.data());
  }

 private:
  std::uint64_t hash_at(std::uint32_t at) const SLUICE_ANNOTATE(requires_capability(mutex)) {
    return seeded_hash(swarms[at].hash().bytes, seed);
  }
  void rebuild_index() SLUICE_ANNOTATE(requires_capability(mutex));
};

}  // namespace sluice::tracker
