// SPDX-License-Identifier: MIT
#include "tracker/connection_id.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace sluice::tracker {
namespace {

/// Slots in the life of an id.
constexpr std::uint64_t kSlots = 16;
/// The top byte of an id is the low byte of its slot's number.
constexpr unsigned kSlotShift = 56;
constexpr std::uint64_t kSlotMask = 0xff;
static_assert(kSlots < kSlotMask);

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void take(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

/// Little-endian, of at most 8 bytes.
std::uint64_t word_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) word = word << 8 | bytes[i];
  return word;
}

}  // namespace

std::uint64_t siphash(const SipKey& key, std::span<const std::uint8_t> bytes) {
  SipState state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                 key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
  const std::uint64_t length = bytes.size();
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state.take(word_of(bytes.first(8)));
  state.take(length << 56 | word_of(bytes));
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

ConnectionIds::ConnectionIds(Random& random, Duration grace)
    : key_{random.next(), random.next()},
      slot_((Duration(kConnectionIdLife) + grace + Duration(kSlots - 1)) / kSlots) {
  SLUICE_CHECK(grace >= Duration::zero());
}

std::uint64_t ConnectionIds::issue(const Endpoint& client, MonoTime now) const {
  return id_of(slot_of(now), client);
}

bool ConnectionIds::is_good(std::uint64_t id, const Endpoint& client, MonoTime now) const {
  const std::uint64_t slot = slot_of(now);
  const std::uint64_t age = (slot - (id >> kSlotShift)) & kSlotMask;
  return age <= kSlots && id == id_of(slot - age, client);
}

std::uint64_t ConnectionIds::id_of(std::uint64_t slot, const Endpoint& client) const {
  std::array<std::uint8_t, 24> bytes = {};
  const std::uint64_t first = slot << 1 | (client.is_v6 ? 1 : 0);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(first >> (8 * i));
  std::ranges::copy(client.address, bytes.begin() + 8);
  const std::uint64_t hash = siphash(key_, bytes);
  return slot << kSlotShift | hash >> (64 - kSlotShift);
}

std::uint64_t ConnectionIds::slot_of(MonoTime now) const {
  return static_cast<std::uint64_t>(now.time_since_epoch() / slot_);
}

}  // namespace sluice::tracker
