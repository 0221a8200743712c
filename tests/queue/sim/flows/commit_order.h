// SPDX-License-Identifier: MIT
// Which of two things was committed first, as far as it can be told from outside.
#pragma once

#include <sluice/kv.h>

#include <string>
#include <string_view>

namespace sluice::queue::sim {

/// The digits of an event's cursor that name its commit: the epoch and the stamp.
inline constexpr std::size_t kCommitDigits = 24;

/// Sorts as the commits do, whatever the queue.
inline std::string commit_of(std::string_view cursor) {
  return std::string(cursor.substr(0, kCommitDigits));
}

/// The commit that enqueued the job of this number.
inline std::string commit_of(const kv::Mark& number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const char byte : number.encode()) {
    digits += kDigits[static_cast<unsigned char>(byte) >> 4];
    digits += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return commit_of(digits);
}

}  // namespace sluice::queue::sim
