// SPDX-License-Identifier: MIT
// What is to be copied, by which rules, and what came of it: the words that all kinds of copying
// share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "migrate/entry.h"

namespace sluice::migrate {

/// The largest piece of content that is moved at once.
inline constexpr std::size_t kCopyPieceBytesMax = 1 << 20;

/// Called before each piece of content is moved, with its size, at most kCopyPieceBytesMax; it may
/// block. Not called for holes, nor for what is shared instead of copied (reflinks).
using Throttle = std::function<void(std::size_t bytes)>;

struct CopyRules {
  /// Set owner and group. Otherwise what is new belongs to whom the system gives it, and what is
  /// replaced keeps its owner where that is allowed.
  bool owners = true;
  /// Set mode and ACLs. Otherwise what is new gets the source's mode less the umask, and what is
  /// replaced keeps its mode.
  bool modes = true;
  bool times = true;   ///< Set the times of everything but files; those of files are always set.
  bool xattrs = true;  ///< Set extended attributes other than ACLs.
  /// Hash files as they are read, then read what was written from the disk again and compare.
  bool verify = false;
  /// Put new files together without any name where the file system can do that: faster, and a kill
  /// leaves nothing behind. Otherwise, and for what replaces something, under CopyOrder::temp.
  bool unnamed = true;
  Throttle throttle = {};  ///< Empty: none.
  /// Looked at between pieces of a large file: the copy then ends with ECANCELED.
  std::stop_token stop = {};
};

/// One name to be made on the destination like it is on the source. The descriptors may be O_PATH
/// ones. A view: everything lives until the call returns.
struct CopyOrder {
  int src = -1;         ///< The directory on the source.
  int dst = -1;         ///< The directory on the destination.
  const Entry& wanted;  ///< What the ledger says of the source, with name and target.
  /// What the ledger says stands at that name on the destination; null: nothing. It may be of
  /// another kind, but not a folder, unless `wanted` is one too.
  const Entry* replaced = nullptr;
  std::string_view temp = {};  ///< See temp_name().
};

/// What could not be carried over, although the rules ask for it, because the file system or the
/// kernel does not let us (EPERM, ENOTSUP). It is not a fault.
struct Lost {
  bool owner = false;   ///< Then set-user-id and set-group-id are not set either.
  bool mode = false;    ///< Or a part of it.
  bool xattrs = false;  ///< One at least, or an ACL.

  bool any() const { return owner || mode || xattrs; }
  friend bool operator==(const Lost&, const Lost&) = default;
};

struct [[nodiscard]] Copied {
  Entry entry = {};               ///< As it is on the destination now. Without name and target.
  std::optional<Hash> hash = {};  ///< Of what was read and found again, with CopyRules::verify.
  std::uint64_t bytes = 0;        ///< Of content, that were moved or shared; holes do not count.
  Lost lost = {};
};

/// Why nothing was copied.
struct [[nodiscard]] CopyFault {
  enum class Why : std::uint8_t {
    io,             ///< A system call failed: see `error`.
    drift_src,      ///< The source is not what the ledger says, or changed in the meantime.
    drift_dst,      ///< The destination is not what the ledger says: look_at() tells what it is.
    in_the_way,     ///< A folder stands where a file is wanted, or the other way round.
    verify_failed,  ///< What was read back is not what was written.
  };

  Why why = Why::io;
  int error = 0;            ///< errno; 0 if none tells.
  std::string detail = {};  ///< What was being done: "fsync", "source changed". For people.
};

template <class T>
using CopyResult = tl::expected<T, CopyFault>;

std::string_view why_name(CopyFault::Why why);

}  // namespace sluice::migrate
