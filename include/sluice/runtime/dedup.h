// SPDX-License-Identifier: MIT
// Keys that are in use: the same work is not begun twice at the same time.
//
//   Dedup in_flight;
//   auto hold = in_flight.hold(url);
//   if (!hold) return;               // Somebody is at it.
//   fetch(url);                      // The key is free again at the end of the scope.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::runtime {

/// A set of keys, each held by at most one Hold.
///
/// Concurrency: thread-safe. A Hold may outlive the set.
/// Cost: a hash and a lock for each call.
class Dedup {
  struct State;

 public:
  /// Holds a key until it goes out of scope, on whichever path. Moving it moves the key along.
  class Hold {
   public:
    Hold(Hold&&) = default;
    Hold& operator=(Hold&& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(key_, other.key_);
      return *this;
    }
    ~Hold();
    const std::string& key() const { return key_; }

   private:
    friend class Dedup;
    Hold(std::shared_ptr<State> state, std::string key)
        : state_(std::move(state)), key_(std::move(key)) {}
    std::shared_ptr<State> state_;  // The last of the set and its holds frees it.
    std::string key_;
  };

  Dedup();
  ~Dedup();
  /// Nothing if somebody holds the key.
  [[nodiscard]] std::optional<Hold> hold(std::string_view key);
  bool held(std::string_view key) const;
  std::size_t size() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace sluice::runtime
