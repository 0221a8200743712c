// SPDX-License-Identifier: MIT
#include "tests/queue/sim/trace.h"

#include <utility>

namespace sluice::queue::sim {

void Trace::note(std::string line) {
  for (const char byte : line) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= 0x100000001b3;
  }
  ++count_;
  lines_.push_back(std::to_string(count_) + " " + std::move(line));
  if (lines_.size() > kKept) lines_.pop_front();
}

std::string Trace::last() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

}  // namespace sluice::queue::sim
