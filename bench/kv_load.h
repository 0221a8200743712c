// SPDX-License-Identifier: MIT
// The load that bench_kv puts on a store, and the same on LMDB without Sluice.
#pragma once

#include <sluice/kv.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench.h"
#include "lmdb_peer.h"

namespace sluice::bench {

/// A small transaction puts so many keys of 16 bytes, each with a value of 200.
inline constexpr unsigned kPuts = 3;

class Key {
 public:
  explicit Key(std::uint64_t number);
  std::string_view view() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 16> digits_;
};
std::string_view value();

/// What was done in one go, and at what cost.
struct Work {
  std::uint64_t done = 0;
  Cost cost = {};

  double per_second() const { return static_cast<double>(done) / cost.wall_seconds; }
  double cpu_us_each() const { return cost.cpu_seconds * 1e6 / static_cast<double>(done); }
};

/// Where a load's keys go on; its threads share it.
using NextKey = std::atomic<std::uint64_t>;

/// `threads` threads commit small transactions with ascending keys until `duration` has passed.
Result<Work> write_flat_out(kv::Store& store, NextKey& next, unsigned threads, Duration duration);

/// The same from one thread through submit(), which keeps `in_flight` transactions under way.
Result<Work> submit_flat_out(kv::Store& store, NextKey& next, unsigned in_flight,
                             Duration duration);

/// What threads cost that have nothing to do but sleep and be woken, without any store: in each
/// round all of them wait for one word to change, and after `pause` it does. Counts wake-ups.
Work wake_in_rounds(unsigned threads, Duration pause, Duration duration);

/// Single gets, each in its own snapshot, spread over the first `keys` keys.
Result<Work> read_singly(kv::Store& store, std::uint64_t keys, Duration duration);

/// LMDB with the flags that Sluice uses, and nothing around it.
class BareLmdb : public LmdbPeer {
 public:
  static Result<std::unique_ptr<BareLmdb>> open(const std::string& dir);

  /// The puts of `transactions` small transactions, `batch` of them per commit, on this thread.
  Result<Work> write(std::uint64_t transactions, std::uint64_t batch);
  Result<Work> read_singly(std::uint64_t keys, Duration duration);

  /// How long each commit took, in nanoseconds.
  const std::vector<double>& commit_ns() const { return commit_ns_; }

 private:
  BareLmdb() = default;
  int write_batch(std::uint64_t transactions);

  std::uint64_t next_ = 0;
  std::vector<double> commit_ns_;
};

}  // namespace sluice::bench
