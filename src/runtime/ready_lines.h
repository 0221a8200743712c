// SPDX-License-Identifier: MIT
// The ready items of a delay queue, in line by priority.
#pragma once

#include <sluice/runtime/heap.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// An item's place among the ready ones.
struct ReadyEntry {
  std::int64_t key = 0;  ///< The same for a whole line; with ageing the time when it counts as 0.
  std::uint64_t sequence = 0;
  std::uint32_t slot = 0;
  std::uint32_t version = 0;

  bool before(const ReadyEntry& other) const {
    return key != other.key ? key < other.key : sequence < other.sequence;
  }
};

/// A line for each priority that has somebody in it. Nearly everybody joins at the end of a line,
/// so that it is a plain queue: joining and leaving touch memory that was used just before, which a
/// heap of a million does not. Who comes late with an early sequence stands in a heap beside it.
///
/// Entries may die where they stand; the functions that need to know are given who is alive.
/// Cost: O(log of the priorities in use); with ageing, first() takes O(priorities in use).
class ReadyLines {
 public:
  explicit ReadyLines(bool ageing) : ageing_(ageing) {}

  void push(std::int32_t priority, const ReadyEntry& entry) {
    auto line = lines_.find(priority);
    if (line == lines_.end()) line = open_line(priority);
    auto& queue = line->second.queue;
    if (queue.empty() || queue.back().before(entry))
      queue.push_back(entry);
    else
      line->second.late.push(entry);
    ++size_;
  }

  /// The first one alive, of which there must be one. It stays.
  template <class Alive>
  const ReadyEntry& first(const Alive& alive) {
    for (;;) {
      auto line = lines_.begin();
      if (!trim(line->second, alive)) {
        close_line(line);
        continue;
      }
      const ReadyEntry* least = &line->second.first();
      for (++line; ageing_ && line != lines_.end();) {
        if (!trim(line->second, alive)) {
          line = close_line(line);
          continue;
        }
        if (line->second.first().before(*least)) least = &line->second.first();
        ++line;
      }
      return *least;
    }
  }

  /// Entries, dead ones included.
  std::size_t size() const { return size_; }
  /// Removes the dead ones.
  template <class Alive>
  void keep_if(const Alive& alive) {
    for (auto& [priority, line] : lines_) {
      const std::size_t before = line.size();
      std::erase_if(line.queue, [&](const ReadyEntry& entry) { return !alive(entry); });
      line.late.keep_if(alive);
      size_ -= before - line.size();
    }
  }

 private:
  struct Line {
    std::deque<ReadyEntry> queue = {};
    Heap<ReadyEntry> late = {};

    std::size_t size() const { return queue.size() + late.size(); }
    bool late_is_first() const {
      return queue.empty() || (!late.empty() && late.top().before(queue.front()));
    }
    const ReadyEntry& first() const { return late_is_first() ? late.top() : queue.front(); }
  };
  using Lines = std::map<std::int32_t, Line>;
  static constexpr std::size_t kSparesMax = 16;

  /// Whether anybody is left, once the dead ones at its front are gone.
  template <class Alive>
  bool trim(Line& line, const Alive& alive) {
    while (line.size() > 0 && !alive(line.first())) {
      if (line.late_is_first())
        line.late.pop();
      else
        line.queue.pop_front();
      --size_;
    }
    return line.size() > 0;
  }
  Lines::iterator open_line(std::int32_t priority) {
    if (spares_.empty()) return lines_.try_emplace(priority).first;
    Lines::node_type node = std::move(spares_.back());
    spares_.pop_back();
    node.key() = priority;
    return lines_.insert(std::move(node)).position;
  }
  /// Keeps some of the empty ones for their memory.
  Lines::iterator close_line(Lines::iterator line) {
    const auto next = std::next(line);
    if (spares_.size() < kSparesMax)
      spares_.push_back(lines_.extract(line));
    else
      lines_.erase(line);
    return next;
  }

  const bool ageing_;
  Lines lines_;
  std::vector<Lines::node_type> spares_;
  std::size_t size_ = 0;
};

}  // namespace sluice::runtime
