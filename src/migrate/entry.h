// SPDX-License-Identifier: MIT
// What is known of one name in a directory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::migrate {

/// Stored: the numbers do not change.
enum class Kind : std::uint8_t {
  file = 0,
  folder = 1,
  link = 2,  ///< A symbolic one.
  fifo = 3,
  socket = 4,
  char_device = 5,
  block_device = 6,
};

/// The two trees. Stored.
enum class Side : std::uint8_t { src = 0, dst = 1 };

/// XXH3-128 of a file's content, in its canonical byte order.
using Hash = std::array<std::uint8_t, 16>;

/// When a directory last changed, as far as that is known.
struct FolderStamp {
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;  ///< 0: nothing is known.

  bool known() const { return ctime_ns != 0; }
  friend bool operator==(const FolderStamp&, const FolderStamp&) = default;
};

/// One name in a directory and what statx says of it. Names and targets are raw bytes, compared as
/// unsigned bytes; nothing is assumed of their encoding. A view type: `name` and `target` point
/// into the Listing or chunk that it came from.
struct Entry {
  std::string_view name = {};
  Kind kind = Kind::file;
  std::uint32_t mode = 0;  ///< Permission bits only: 07777.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;        ///< Of a file, in bytes; of anything else 0.
  std::int64_t mtime_ns = 0;     ///< Since 1970.
  std::int64_t ctime_ns = 0;     ///< Of a folder, while it is known: the ledger does not keep it.
  std::string_view target = {};  ///< Of a link.
  std::uint32_t rdev_major = 0;  ///< Of a device.
  std::uint32_t rdev_minor = 0;
  /// Of a file with several names: the same for all of them. Both 0 for one with a single name.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::optional<Hash> hash = {};  ///< Of a file whose content was read.
  /// Why nothing but the name is known (errno), or 0. What is missing is unknown, not different.
  std::uint32_t error = 0;
  bool excluded = false;  ///< By a filter: never descended, compared, copied or deleted.
  /// In the ledger, of a folder that is (or was) to be listed: its number there; else 0.
  std::uint64_t id = 0;

  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Of a folder, if it was just listed.
inline FolderStamp stamp_of(const Entry& folder) {
  return {.mtime_ns = folder.mtime_ns, .ctime_ns = folder.ctime_ns};
}

}  // namespace sluice::migrate
