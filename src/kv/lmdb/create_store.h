// SPDX-License-Identifier: MIT
// Makes the files of a new store, so that a crash in the middle leaves either no store or a whole
// one.
#pragma once

#include <sluice/kv.h>

#include <string>

namespace sluice::kv {

/// Makes `DIR/data.mdb` with nothing but its header, durably, unless it is there. The directory
/// must exist. Several processes may do this at the same time. LMDB itself would write a new file
/// in place: cut off in the middle, such a file cannot be opened again. Also removes what a crash
/// has left of an earlier try or of a compaction, and so must not run beside one.
Status create_store(const LmdbOptions& options);

/// Takes the lock file's whole room from the disk. It is mapped, and touching a page of it that the
/// disk has no room for would kill the process. Must precede the opening of the environment: to
/// close a descriptor of this file afterwards would drop LMDB's locks.
Status allocate_lock_file(const LmdbOptions& options);

/// Syncs the names in the directory, without which a synced file is no use.
Status sync_directory(const std::string& path);
/// The same, and the directory's own name in its parent.
Status sync_names(const std::string& dir);

}  // namespace sluice::kv
