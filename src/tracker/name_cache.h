// SPDX-License-Identifier: MIT
// Addresses of names, kept for a while.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/resolver.h"

namespace sluice::tracker {

struct NameLives {
  Duration found = std::chrono::minutes(5);
  Duration failure = std::chrono::seconds(30);  ///< Also of a name without addresses.
};

/// Looks a name up once for all who ask for it within its life. Who asks meanwhile waits for that
/// look-up instead of making another. What is over goes when other names come.
///
/// Thread-safe.
class NameCache {
 public:
  NameCache(net::LookUp look_up, const Clock& clock, NameLives lives = {});

  /// Blocks for as long as looking it up takes.
  Result<std::vector<net::Address>> find(const std::string& host, std::uint16_t port);

 private:
  using Key = std::pair<std::string, std::uint16_t>;
  struct Name {
    Result<std::vector<net::Address>> found = {};
    MonoTime until = {};
    bool looking = false;
  };
  Name& name_of(const Key& key) SLUICE_ANNOTATE(requires_capability(mutex_));

  const net::LookUp look_up_;
  const Clock& clock_;
  const NameLives lives_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Key, Name> names_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::tracker
