// SPDX-License-Identifier: MIT
// The header record of a store (docs/format/store.md), and which file a store was last written in.
#pragma once

#include <lmdb.h>
#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::kv {

/// Tells a data file from copies of it that `cp` or a backup tool made, best effort: a copy has
/// another inode, or was born later. No device number: those change when a machine starts again.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;  ///< 0 where the file system does not know it.
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
Result<FileIdentity> identity_of(int fd, const std::string& path);

struct StoreHeader {
  std::uint16_t epoch = 1;
  /// The file in which the store was last written; nothing in stores of older programs.
  std::optional<FileIdentity> file = {};
};

/// `invalid_argument` if the file is another program's, or of a format that this one cannot read;
/// `name` is what messages call the store.
Result<StoreHeader> read_header(MDB_txn* txn, MDB_dbi dbi, const std::string& name);
/// Returns LMDB's code.
int put_header(MDB_txn* txn, MDB_dbi dbi, const StoreHeader& header);

/// An epoch above `epoch` by 1 to kEpochStepMax, by chance: two stores that begin with one backup
/// get epochs that differ, most likely. `limit_exceeded` if the last one has been reached.
inline constexpr std::uint16_t kEpochStepMax = 200;
Result<std::uint16_t> draw_epoch_above(std::uint16_t epoch);

}  // namespace sluice::kv
