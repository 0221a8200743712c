// SPDX-License-Identifier: MIT
// A set of keys kept as disjoint half-open intervals.
#pragma once

#include <map>
#include <memory_resource>
#include <string_view>

namespace sluice::kv {

/// Holds views: the bytes must outlive the set. Every operation is O(log n), plus the intervals
/// that an insertion swallows.
class Intervals {
 public:
  explicit Intervals(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : by_begin_(memory) {}

  /// Adds begin <= key < end; nothing if that is empty.
  void insert(std::string_view begin, std::string_view end);

  bool contains(std::string_view key) const;
  /// Whether any key of begin <= key < end is in the set.
  bool meets(std::string_view begin, std::string_view end) const;

  bool empty() const { return by_begin_.empty(); }
  void clear() { by_begin_.clear(); }

  /// In order, disjoint and not touching: (begin, end) pairs.
  auto begin() const { return by_begin_.begin(); }
  auto end() const { return by_begin_.end(); }

 private:
  std::pmr::map<std::string_view, std::string_view> by_begin_;
};

}  // namespace sluice::kv
