// SPDX-License-Identifier: MIT
// The ids that a client of UDP must show (BEP 15): they prove that it gets what is sent to its
// address.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "tracker/announce.h"

namespace sluice::tracker {

using SipKey = std::array<std::uint64_t, 2>;

/// SipHash-2-4: nobody who lacks the key can tell the hash of bytes that he has not seen hashed.
std::uint64_t siphash(const SipKey& key, std::span<const std::uint8_t> bytes);

/// What BEP 15 promises to clients.
inline constexpr std::chrono::minutes kConnectionIdLife{2};

/// Gives out connection ids and knows them again, without remembering any: an id is a keyed hash of
/// the address and of the time slot, whose number it begins with. Ports do not count, since some
/// clients change theirs. The key is drawn once; ids of another ConnectionIds are worth nothing.
///
/// Thread-safe: nothing changes after construction.
class ConnectionIds {
 public:
  /// `grace`: how long an id is good beyond kConnectionIdLife, for clients that keep it longer than
  /// they should. Not negative. An id may be good for a sixteenth of the whole longer than that.
  explicit ConnectionIds(Random& random, Duration grace = std::chrono::minutes(3));

  std::uint64_t issue(const Endpoint& client, MonoTime now) const;
  /// Whether issue() gave it to this address, not too long ago.
  bool is_good(std::uint64_t id, const Endpoint& client, MonoTime now) const;

 private:
  std::uint64_t id_of(std::uint64_t slot, const Endpoint& client) const;
  std::uint64_t slot_of(MonoTime now) const;

  SipKey key_;
  Duration slot_;
};

}  // namespace sluice::tracker
