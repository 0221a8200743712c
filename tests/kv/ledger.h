// SPDX-License-Identifier: MIT
// A workload whose result can be judged from outside: whatever happened to the process that ran it,
// check_ledger() tells whether the store holds what was acknowledged, and nothing else.
#pragma once

#include <sluice/kv.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

inline constexpr unsigned kAccounts = 16;
inline constexpr std::uint64_t kBalanceStart = 1'000;

/// One transaction of the ledger. A *lane* is a sequence of postings 1, 2, 3, ... made one after
/// another, by one thread at a time; lanes run beside each other.
struct Posting {
  unsigned lane = 0;
  std::uint64_t number = 0;
  std::uint64_t seed = 0;  ///< Decides accounts, amount, sizes and when old entries are trimmed.
  /// How many entries of the lane are kept when it is trimmed.
  std::uint64_t window = 12;
  /// Of the drain class: a small entry, and the lane is trimmed to the last two.
  bool drain = false;
};

/// Writes the accounts, unless they are there.
Status set_up_ledger(kv::Store& store);

/// The last posting of the lane; 0 if there is none.
Result<std::uint64_t> last_posting(kv::Store& store, unsigned lane);

/// Moves an amount between two accounts, adds 1 to the count, writes a log entry, a stamped key and
/// a stamped value, and sometimes trims old entries. Fails with `conflict` and no effect unless
/// `number` follows the lane's last posting.
Result<kv::Commit> post(kv::Store& store, const Posting& posting);

/// What is known of a lane from outside.
struct LaneTruth {
  std::uint64_t acked = 0;  ///< Every posting up to this one was acknowledged.
  bool in_flight = false;   ///< The next one may have been committed too.
};
using Truth = std::map<unsigned, LaneTruth>;

struct Breach {
  enum class Kind : std::uint8_t {
    corrupt,  ///< The store cannot be read, or contradicts itself.
    lost,     ///< Something acknowledged is not there.
    extra,    ///< Something is there that was never asked for, or was reported as failed.
  };
  Kind kind = Kind::corrupt;
  std::string text;
};
const char* breach_name(Breach::Kind kind);

struct Verdict {
  std::vector<Breach> breaches;
  /// The last posting of every lane in the store.
  std::map<unsigned, std::uint64_t> last;

  bool clean() const { return breaches.empty(); }
  std::string to_string() const;
};

/// Reads the whole store in one snapshot: every record decodes; each lane's entries are contiguous
/// up to its last posting, which is the last acknowledged one or the one in flight; the count is
/// the number of postings; the balances add up; the order of the stamps is the order in which
/// postings touched each account.
Verdict check_ledger(kv::Store& store, const Truth& truth);

}  // namespace sluice::test
