// SPDX-License-Identifier: MIT
// The earliest of many: what the timers and the delay queue are built on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// Gives out its entries in their order. Four children to a node: half as deep as with two, and
/// the children lie side by side in memory. `Entry` is small, copied freely, and has
/// `bool before(const Entry&) const`, a strict order of all entries. Not thread-safe.
///
/// Cost: push O(1) on the average, pop O(log n), keep_if O(n).
template <class Entry>
class Heap {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  /// The heap must not be empty.
  const Entry& top() const { return entries_.front(); }

  void push(const Entry& entry) {
    entries_.push_back(entry);
    rise(entries_.size() - 1);
  }

  /// Removes the top; the heap must not be empty.
  void pop() {
    const Entry last = entries_.back();
    entries_.pop_back();
    if (entries_.empty()) return;
    // The last one mostly belongs far down: the hole goes to the bottom without a look at it.
    std::size_t hole = 0;
    while (hole * kChildren + 1 < entries_.size()) {
      const std::size_t child = least_child(hole);
      entries_[hole] = entries_[child];
      hole = child;
    }
    entries_[hole] = last;
    rise(hole);
  }

  void clear() { entries_.clear(); }

  /// Removes the entries for which `keep` is false.
  template <class Keep>
  void keep_if(const Keep& keep) {
    std::erase_if(entries_, [&](const Entry& entry) { return !keep(entry); });
    for (std::size_t i = entries_.size() / kChildren + 1; i-- > 0;)
      if (i < entries_.size()) sink(i, Entry(entries_[i]));
  }

 private:
  static constexpr std::size_t kChildren = 4;

  void rise(std::size_t at) {
    const Entry entry = entries_[at];
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!entry.before(entries_[parent])) break;
      entries_[at] = entries_[parent];
      at = parent;
    }
    entries_[at] = entry;
  }

  /// Puts `entry` where `at` is, or below.
  void sink(std::size_t at, const Entry& entry) {
    while (at * kChildren + 1 < entries_.size()) {
      const std::size_t child = least_child(at);
      if (!entries_[child].before(entry)) break;
      entries_[at] = entries_[child];
      at = child;
    }
    entries_[at] = entry;
  }
  /// Of the children of `at`, which has some.
  std::size_t least_child(std::size_t at) const {
    const std::size_t first = at * kChildren + 1;
    if (first + kChildren <= entries_.size()) {
      // Which one it is cannot be foretold: choices without a branch, the two halves side by side.
      const std::size_t low = first + std::size_t{entries_[first + 1].before(entries_[first])};
      const std::size_t high =
          first + 2 + std::size_t{entries_[first + 3].before(entries_[first + 2])};
      return entries_[high].before(entries_[low]) ? high : low;
    }
    std::size_t least = first;
    for (std::size_t child = first + 1; child < entries_.size(); ++child)
      if (entries_[child].before(entries_[least])) least = child;
    return least;
  }

  std::vector<Entry> entries_;
};

}  // namespace sluice::runtime
