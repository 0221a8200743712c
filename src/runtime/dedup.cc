// SPDX-License-Identifier: MIT
#include <sluice/runtime/dedup.h>

#include <functional>
#include <unordered_set>

#include "base/mutex.h"
#include "runtime/string_hash.h"

namespace sluice::runtime {

struct Dedup::State {
  mutable Mutex mutex;
  std::unordered_set<std::string, StringHash, std::equal_to<>> keys SLUICE_GUARDED_BY(mutex);
};

Dedup::Dedup() : state_(std::make_shared<State>()) {}
Dedup::~Dedup() = default;

Dedup::Hold::~Hold() {
  if (!state_) return;
  const MutexLock lock(state_->mutex);
  state_->keys.erase(key_);
}

std::optional<Dedup::Hold> Dedup::hold(std::string_view key) {
  {
    const MutexLock lock(state_->mutex);
    if (!state_->keys.emplace(key).second) return std::nullopt;
  }
  return Hold(state_, std::string(key));
}

bool Dedup::held(std::string_view key) const {
  const MutexLock lock(state_->mutex);
  return state_->keys.contains(key);
}

std::size_t Dedup::size() const {
  const MutexLock lock(state_->mutex);
  return state_->keys.size();
}

}  // namespace sluice::runtime
