// SPDX-License-Identifier: MIT
// How the ledger lies in its store.
//
//   a/AA          account: balance and version (how often it was touched)
//   c             count of postings, kept with add()
//   h/LL          head of a lane: last posting, and up to where it is trimmed
//   l/LL/NUMBER   log entry
//   s/LL/MARK     stamped key: the number of the posting
//   v/LL          stamped value: the number of the lane's last posting
#pragma once

#include <sluice/result.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::test {

inline constexpr std::string_view kCountKey = "c";

std::string account_key(unsigned account);
std::string head_key(unsigned lane);
std::string log_prefix(unsigned lane);
std::string log_key(unsigned lane, std::uint64_t number);
std::string stamped_prefix(unsigned lane);
std::string last_key(unsigned lane);
/// The lane in any key that has one.
unsigned lane_of(std::string_view key);

struct Account {
  std::uint64_t balance = 0;
  std::uint64_t version = 0;

  std::string encode() const;
  static Result<Account> decode(std::string_view bytes);
};

struct Head {
  std::uint64_t last = 0;
  std::uint64_t trimmed = 0;

  std::string encode() const;
  static Result<Head> decode(std::string_view bytes);
};

/// An account as one posting left it.
struct Touch {
  unsigned account = 0;
  std::uint64_t version = 0;
};

struct LogEntry {
  unsigned lane = 0;
  std::uint64_t number = 0;
  std::array<Touch, 2> touches = {};
  std::uint64_t filler_seed = 0;
  std::uint64_t filler_bytes = 0;

  std::string encode() const;
  /// Also compares the filler with what the seed makes.
  static Result<LogEntry> decode(std::string_view bytes);
};

/// What the stamped key and the stamped value hold.
std::string encode_number(std::uint64_t number);
Result<std::uint64_t> decode_number(std::string_view bytes);

}  // namespace sluice::test
