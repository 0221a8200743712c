// SPDX-License-Identifier: MIT
// Looking at a ledger from outside, through a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kv/ledger.h"

namespace sluice::test {

struct Checked {
  /// One line per breach, or how the checker itself ended.
  std::vector<std::string> breaches;
  std::uint64_t open_us = 0;
  /// What the store holds: nothing of it is in flight any more.
  Truth truth;

  bool clean() const { return breaches.empty(); }
  std::string to_string() const;
};

/// Opens the store in a new process and checks it against `truth`; then makes `more` postings and
/// checks again.
Checked check_in_child(const std::string& dir, const Truth& truth, std::uint64_t more = 0);

}  // namespace sluice::test
