// SPDX-License-Identifier: MIT
#include "kv/intervals.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::kv {
namespace {

// Against a set of the 26 letters.
RC_GTEST_PROP(Intervals, agree_with_a_plain_set_of_keys, ()) {
  using Pair = std::pair<std::string, std::string>;
  const auto letter = rc::gen::map(rc::gen::inRange('a', static_cast<char>('z' + 1)),
                                   [](char c) { return std::string(1, c); });
  const auto pairs = *rc::gen::container<std::vector<Pair>>(rc::gen::pair(letter, letter));
  Intervals intervals;
  std::set<std::string> keys;
  for (const auto& [begin, end] : pairs) {
    intervals.insert(begin, end);
    for (char c = begin[0]; c < end[0]; ++c) keys.insert(std::string(1, c));
  }
  std::string_view last;
  for (const auto& [begin, end] : intervals) {
    RC_ASSERT(begin < end);
    RC_ASSERT(last.empty() || last < begin);
    last = end;
  }
  for (char c = 'a'; c <= 'z'; ++c) {
    const std::string key(1, c);
    RC_ASSERT(intervals.contains(key) == (keys.count(key) > 0));
    for (char d = c; d <= 'z'; ++d) {
      const std::string end(1, d);
      const auto first = keys.lower_bound(key);
      RC_ASSERT(intervals.meets(key, end) == (first != keys.end() && *first < end));
    }
  }
}

}  // namespace
}  // namespace sluice::kv
