// SPDX-License-Identifier: MIT
// From a recorded run to what a disk may hold if the power fails in the middle of it.
#pragma once

#include <sluice/random.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/kv/ledger.h"
#include "tests/kv/power_cut/io_log.h"

namespace sluice::test {

enum class CutMode : std::uint8_t {
  honest,         ///< A disk that keeps its promises.
  syncs_ignored,  ///< Control: syncs mean nothing. The checks must notice.
  meta_first,     ///< Control: each synchronous write reaches the disk before the data it is about.
};
CutMode cut_mode_named(const std::string& name);

/// Walks through a log. At each position it knows what is durable, what is pending (begun, but not
/// covered by a completed sync), and what has been acknowledged. A step costs what its record
/// writes, an image what the file holds.
class Replay {
 public:
  static constexpr std::size_t kSectorBytes = 512;
  /// More writes than this do not stay pending: the kernel writes back by itself in the end. Only
  /// a store that does not sync gets so far.
  static constexpr std::size_t kPendingMax = 96;

  /// `log` outlives the object.
  Replay(const std::vector<IoRecord>& log, CutMode mode) : log_(log), mode_(mode) {}

  /// Goes past the next record; false if there is none.
  bool step();
  std::size_t position() const { return position_; }

  /// How many different images there are at this position, up to a large number.
  std::uint64_t images_max() const;
  /// What is durable, and of every pending write all, nothing or some of its sectors.
  std::string image(Random& random) const;
  /// Whether the file has its name: drawn from `random` while that is not certain.
  bool named(Random& random) const;
  /// What the file holds while the power is on.
  std::string live_file() const;

  const Truth& truth() const { return truth_; }
  std::size_t pending() const { return pending_.size(); }

 private:
  struct Pending {
    const IoRecord* write;
    bool done = false;
  };

  void begin_write(const IoRecord& record);
  void finish_write(const IoRecord& record);
  void settle(const std::vector<std::uint64_t>& ids);
  void settle_meta_of_this_batch();

  const std::vector<IoRecord>& log_;
  const CutMode mode_;
  std::size_t position_ = 0;
  std::string durable_;
  std::vector<Pending> pending_;                               // In the order in which they began.
  std::map<std::uint64_t, std::vector<std::uint64_t>> syncs_;  // Running: which writes it covers.
  Truth truth_;
  bool renamed_ = false;
  bool name_synced_ = false;
};

}  // namespace sluice::test
