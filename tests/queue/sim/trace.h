// SPDX-License-Identifier: MIT
// What happened in one simulated run: a hash over every event, and the last events in words.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace sluice::queue::sim {

class Trace {
 public:
  static constexpr std::size_t kKept = 500;

  void note(std::string line);
  /// Of all lines so far. Two runs of one seed have the same.
  std::uint64_t hash() const { return hash_; }
  /// The last kKept lines.
  std::string last() const;

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
  std::uint64_t count_ = 0;
  std::deque<std::string> lines_;
};

}  // namespace sluice::queue::sim
