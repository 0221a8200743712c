// SPDX-License-Identifier: MIT
#include "migrate/content_hash.h"

#include <xxhash.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace sluice::migrate {

ContentHash::ContentHash() : state_(XXH3_createState()) {
  SLUICE_CHECK(state_ && XXH3_128bits_reset(state_.get()) == XXH_OK);
}

void ContentHash::add(const void* bytes, std::size_t size) {
  SLUICE_CHECK(XXH3_128bits_update(state_.get(), bytes, size) == XXH_OK);
}

Hash ContentHash::finish() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
  Hash hash;
  static_assert(sizeof canonical.digest == sizeof hash);
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), hash.begin());
  return hash;
}

void ContentHash::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

}  // namespace sluice::migrate
