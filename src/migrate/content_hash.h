// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>

#include "migrate/entry.h"

struct XXH3_state_s;

namespace sluice::migrate {

/// The Hash of a content that comes in pieces. One thread.
class ContentHash {
 public:
  ContentHash();
  void add(const void* bytes, std::size_t size);
  /// Of all that was added.
  Hash finish() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace sluice::migrate
