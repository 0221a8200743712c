// SPDX-License-Identifier: MIT
#include "tracker/name_cache.h"

namespace sluice::tracker {

NameCache::NameCache(net::LookUp look_up, const Clock& clock, NameLives lives)
    : look_up_(std::move(look_up)), clock_(clock), lives_(lives) {}

Result<std::vector<net::Address>> NameCache::find(const std::string& host, std::uint16_t port) {
  const Key key(host, port);
  MutexLock lock(mutex_);
  for (;;) {
    const Name& known = name_of(key);
    if (!known.looking && clock_.mono() < known.until) return known.found;
    if (!known.looking) break;
    changed_.wait(lock);
  }
  name_of(key).looking = true;
  lock.unlock();
  auto found = look_up_(host, port);
  lock.lock();
  const Duration life = found && !found->empty() ? lives_.found : lives_.failure;
  name_of(key) = {.found = found, .until = clock_.mono() + life};
  changed_.notify_all();
  return found;
}

NameCache::Name& NameCache::name_of(const Key& key) {
  const auto known = names_.find(key);
  if (known != names_.end()) return known->second;
  std::erase_if(names_, [now = clock_.mono()](const auto& one) {
    return !one.second.looking && one.second.until <= now;
  });
  return names_[key];
}

}  // namespace sluice::tracker
