// SPDX-License-Identifier: MIT
// The unique keys that new jobs of one transaction take.
#pragma once

#include <cstring>
#include <memory_resource>
#include <string_view>
#include <unordered_map>

namespace sluice::queue {

/// Each key, as it is stored, with the id of its job. All bytes are in one arena, which only grows:
/// what is erased frees nothing before the end. Not thread-safe.
class NewKeys {
 public:
  /// The id of the job that takes the key; empty if none does.
  std::string_view holder(std::string_view key) const {
    const auto found = ids_.find(key);
    return found == ids_.end() ? std::string_view() : found->second;
  }
  /// The job takes the key, unless another one does. Both are as long-lived as this object.
  struct Entry {
    std::string_view key;
    std::string_view holder;
    bool added = false;
  };
  Entry add(std::string_view key, std::string_view id) {
    const auto [at, added] = ids_.try_emplace(keep(key));
    if (added) at->second = keep(id);
    return {at->first, at->second, added};
  }
  void erase(std::string_view key) { ids_.erase(key); }

 private:
  std::string_view keep(std::string_view bytes) {
    auto* copy = static_cast<char*>(arena_.allocate(bytes.size(), 1));
    std::memcpy(copy, bytes.data(), bytes.size());
    return {copy, bytes.size()};
  }

  std::pmr::monotonic_buffer_resource arena_;
  std::pmr::unordered_map<std::string_view, std::string_view> ids_{&arena_};
};

}  // namespace sluice::queue
