// SPDX-License-Identifier: MIT
#include "tracker/peer_array.h"

#include <utility>

#include "base/check.h"
#include "tracker/seeded_hash.h"

namespace sluice::tracker {
namespace {

/// Half as much again: small swarms are many, and twice as much would leave a third of all empty.
std::size_t roomy(std::size_t size) {
  return size + size / 2 + 2;
}

}  // namespace

template <std::size_t kWidth>
std::uint64_t PeerArray<kWidth>::hash_at(std::uint32_t at) const {
  return seeded_hash(endpoints_[at], seed_);
}

template <std::size_t kWidth>
std::uint32_t PeerArray<kWidth>::find(const Compact& endpoint) const {
  if (index_.made())
    return index_.find(seeded_hash(endpoint, seed_),
                       [&](std::uint32_t at) { return endpoints_[at] == endpoint; });
  for (std::uint32_t at = 0; at < size(); ++at)
    if (endpoints_[at] == endpoint) return at;
  return kNowhere;
}

template <std::size_t kWidth>
std::uint32_t PeerArray<kWidth>::insert(const Compact& endpoint, const Known& known,
                                        bool is_seeder) {
  make_room();
  const std::uint32_t at = size();
  endpoints_.push_back(endpoint);
  known_.push_back(known);
  if (index_.made()) index_.insert(hash_at(at), at);
  return is_seeder ? set_seeder(at, true) : at;
}

template <std::size_t kWidth>
std::uint32_t PeerArray<kWidth>::set_seeder(std::uint32_t at, bool is_seeder) {
  if (is_seeder == this->is_seeder(at)) return at;
  const std::uint32_t border = is_seeder ? seeders_++ : --seeders_;
  swap(at, border);
  return border;
}

template <std::size_t kWidth>
void PeerArray<kWidth>::remove(std::uint32_t at) {
  SLUICE_CHECK(at < size());
  at = set_seeder(at, false);
  const std::uint32_t last = size() - 1;
  swap(at, last);
  if (index_.made())
    index_.erase(hash_at(last), last, [this](std::uint32_t other) { return hash_at(other); });
  endpoints_.pop_back();
  known_.pop_back();
  shrink();
}

template <std::size_t kWidth>
void PeerArray<kWidth>::swap(std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  if (index_.made()) index_.swap(hash_at(a), a, hash_at(b), b);
  std::swap(endpoints_[a], endpoints_[b]);
  std::swap(known_[a], known_[b]);
}

template <std::size_t kWidth>
void PeerArray<kWidth>::make_room() {
  if (endpoints_.size() == endpoints_.capacity()) resize_to(roomy(endpoints_.size()));
  const bool needs_index = endpoints_.size() >= kScanMax;
  if (needs_index && !index_.has_room(endpoints_.size()))
    index_.rebuild(endpoints_.size(), std::max(endpoints_.capacity(), endpoints_.size() + 1),
                   [this](std::uint32_t at) { return hash_at(at); });
}

template <std::size_t kWidth>
void PeerArray<kWidth>::shrink() {
  // Well below the size at which it is made, or peers that come and go would make it each time.
  if (index_.made() && endpoints_.size() <= kScanMax / 2) index_.clear();
  if (endpoints_.capacity() <= 4 || endpoints_.size() > endpoints_.capacity() / 4) return;
  resize_to(roomy(endpoints_.size()));
  if (index_.made())
    index_.rebuild(endpoints_.size(), endpoints_.capacity(),
                   [this](std::uint32_t at) { return hash_at(at); });
}

template <std::size_t kWidth>
void PeerArray<kWidth>::resize_to(std::size_t capacity) {
  const auto copy_of = [&](auto& old) {
    std::remove_reference_t<decltype(old)> copy;
    copy.reserve(capacity);
    copy.assign(old.begin(), old.end());
    old.swap(copy);
  };
  copy_of(endpoints_);
  copy_of(known_);
}

template class PeerArray<kCompactBytes4>;
template class PeerArray<kCompactBytes6>;

}  // namespace sluice::tracker
