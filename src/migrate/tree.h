// SPDX-License-Identifier: MIT
// A tree that can be listed: on this machine's disks, or made up by the simulator. The seam behind
// which other kinds of storage can follow.
#pragma once

#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "migrate/entry.h"
#include "migrate/listing.h"

namespace sluice::migrate {

/// Why a directory could not be listed, or a file not be read.
struct Fault {
  int error = 0;            ///< errno; 0: no fault.
  std::string detail = {};  ///< What was being done: "open", "getdents64". For people.
  /// The directory changed while it was read: what was delivered may mix two states of it.
  bool changed = false;

  bool ok() const { return error == 0 && !changed; }
};

/// What may help against a fault.
enum class FaultClass : std::uint8_t {
  none,
  transient,  ///< Trying again: EIO, ETIMEDOUT, ESTALE, ENOMEM, a directory that changed, ...
  permanent,  ///< Somebody must do something first: EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, ...
};
FaultClass fault_class(const Fault& fault);
/// "EACCES"; "errno 4711" for one without a name.
std::string errno_name(int error);

/// The most entries that a page has, so that a directory of any size needs little memory.
inline constexpr std::size_t kPageEntries = 8192;

/// Takes the entries of a directory page by page, in any order, each name once (twice at most if
/// the listing turns out to be `changed`). A page is never empty; of an empty directory there is
/// none. May empty the listing or leave entries in it; the tree clears it before it goes on.
/// Returns whether to go on.
using PageSink = std::function<bool(Listing& page)>;

/// A path is relative to the root, its names joined by '/', and empty for the root itself. It may
/// be longer than PATH_MAX. Concurrency: every member may be called from any number of threads.
class Tree {
 public:
  virtual ~Tree() = default;

  /// Delivers every entry of the directory but "." and "..". `scratch` is the caller's, so that its
  /// memory is used again; it is handed to `sink` as the page. An entry whose attributes cannot be
  /// read is delivered with its `error`; one that vanished in between makes the listing `changed`.
  /// `seen`: of the directory, by the listing of its parent; if it is still the same afterwards,
  /// the directory has not changed meanwhile, which saves a look at it.
  virtual Fault list(std::string_view path, const FolderStamp& seen, Listing& scratch,
                     const PageSink& sink) = 0;

  /// What is known of the root itself. Its name is empty.
  virtual Fault stat_root(Listing& one) = 0;

  /// Reads the file `entry` of the directory `path` to its end. `changed` if it is not the file
  /// that `entry` describes (kind, size, time), before or after the reading.
  virtual Fault hash(std::string_view path, const Entry& entry, Hash& hash) = 0;

  /// For messages and the ledger: an absolute path, or "sim:...". The same tree, the same name.
  virtual std::string name() const = 0;
};

}  // namespace sluice::migrate
