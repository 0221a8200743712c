// SPDX-License-Identifier: MIT
// Sorted entries as the ledger stores them: chunks of at most kChunkBytesMax, each a checked
// record. docs/format/migrate.md has the layout.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "migrate/entry.h"

namespace sluice::migrate {

inline constexpr std::size_t kChunkBytesMax = 64 * 1024;
/// A name in Linux has at most 255 bytes; an adapter may have longer ones.
inline constexpr std::size_t kNameBytesMax = 1024;
/// Of a symbolic link (PATH_MAX).
inline constexpr std::size_t kTargetBytesMax = 4096;

/// Packs entries, given in the order of their names, into chunks. Names share prefixes with the one
/// before, and owner and mode are left out where they repeat: about 25 bytes for a usual file. Each
/// chunk can be read by itself. One thread.
class ChunkWriter {
 public:
  /// Whether the entry was taken. False: the chunk would be too large; finish() it, then add() the
  /// entry to the next. An empty chunk takes every entry. The name must come after the one before,
  /// across chunks too (checked, as are the limits above and that `mode` is permission bits); only
  /// the very first may be empty, as that of a root is.
  bool add(const Entry& entry);
  std::size_t entries() const { return entries_; }
  bool empty() const { return entries_ == 0; }
  /// The chunk, at most kChunkBytesMax long; one without entries is fine. The writer is then ready
  /// for the next one.
  std::string finish();

 private:
  std::string body_;
  std::string name_last_;  // Kept across chunks, for the order.
  bool started_ = false;   // Whether name_last_ is one.
  std::size_t entries_ = 0;
  // Of the entry before, in this chunk.
  std::uint32_t mode_ = 0;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  std::int64_t seconds_ = 0;
};

/// Reads one chunk. A view type: the bytes must outlive it. `corrupt` for everything that a
/// ChunkWriter does not write, so that two different chunks never hold the same entries; only an
/// intact chunk of another version is `invalid_argument`, as RecordReader has it.
class ChunkReader {
 public:
  /// Checks the checksum.
  static Result<ChunkReader> open(std::string_view chunk);

  /// The next entry, or null at the end. It lives until the next call. After a failure, every
  /// further call fails the same way.
  Result<const Entry*> next();
  /// As the chunk says; never more than its bytes have room for.
  std::size_t entries() const { return entries_; }

 private:
  struct Parsed;  // An entry's numbers, before anything is believed.

  const char* parse(Parsed& parsed, Entry& entry) const;
  const char* check_name(const Parsed& parsed) const;
  Failure fail(const char* problem) const;

  std::string_view rest_;
  Entry entry_;
  std::string name_;
  std::size_t entries_ = 0;
  std::size_t left_ = 0;
  std::uint32_t mode_ = 0;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  std::int64_t seconds_ = 0;
};

}  // namespace sluice::migrate
