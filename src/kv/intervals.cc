// SPDX-License-Identifier: MIT
#include "kv/intervals.h"

#include <iterator>

namespace sluice::kv {

void Intervals::insert(std::string_view begin, std::string_view end) {
  if (begin >= end) return;
  auto it = by_begin_.upper_bound(begin);
  if (it != by_begin_.begin()) {
    const auto before = std::prev(it);
    if (before->second >= end) return;  // Already covered: the usual case for repeated prefixes.
    if (before->second >= begin) {
      begin = before->first;
      it = before;
    }
  }
  while (it != by_begin_.end() && it->first <= end) {
    if (it->second > end) end = it->second;
    it = by_begin_.erase(it);
  }
  by_begin_.emplace_hint(it, begin, end);
}

bool Intervals::contains(std::string_view key) const {
  const auto after = by_begin_.upper_bound(key);
  return after != by_begin_.begin() && std::prev(after)->second > key;
}

bool Intervals::meets(std::string_view begin, std::string_view end) const {
  if (by_begin_.empty() || begin >= end) return false;
  const auto at_end = by_begin_.lower_bound(end);
  return at_end != by_begin_.begin() && std::prev(at_end)->second > begin;
}

}  // namespace sluice::kv
