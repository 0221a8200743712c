// SPDX-License-Identifier: MIT
// What the programs share that tests start and kill: their words, their voice, their end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// What follows the command on the command line. Too few words stop the process.
class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}
  const std::string& text(std::size_t index) const { return words_.at(index); }
  std::uint64_t number(std::size_t index) const { return std::stoull(words_.at(index)); }

 private:
  std::vector<std::string> words_;
};

/// Prints one line at once, with a single write().
void say(const std::string& line);

/// Nothing is left behind if the test dies, and nothing hangs for longer than `seconds_max`. No
/// core files.
void end_with_the_test(unsigned seconds_max);

}  // namespace sluice::test
