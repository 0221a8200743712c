// SPDX-License-Identifier: MIT
// Writing the data file of a store anew, without its free pages.
#pragma once

#include <lmdb.h>
#include <sluice/result.h>

#include <string>

#include "kv/lmdb/environment.h"

namespace sluice::kv {

/// Makes the file `path`, private to the user; fails with `already_exists` if it is there. Returns
/// its descriptor, which the caller closes.
Result<int> make_file(const std::string& path);

/// Opens a data file for reading, without locks: nobody may be writing to it.
Result<EnvPtr> open_file(const std::string& path);

/// Writes what `env` holds now to the empty file `fd` called `path`, and syncs it. The copy is
/// opened once before this returns: it has the map size of the original, and its transaction
/// number, or a later one if others go on writing. So stamps, which hold that number, never run
/// backwards. A failure leaves a part of the file. Takes a reader's slot.
Status write_copy(MDB_env* env, int fd, const std::string& path);

}  // namespace sluice::kv
