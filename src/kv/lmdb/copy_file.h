// SPDX-License-Identifier: MIT
// Writing the data file of a store anew, without its free pages.
#pragma once

#include <lmdb.h>
#include <sluice/result.h>
#include <sys/types.h>

#include <cstdint>
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

/// The header of a data file that nobody has open.
Result<StoreHeader> header_in(const std::string& path);
/// Writes, durably, into a data file that nobody has open, that the store is in this file from now
/// on, with this epoch.
Status settle_in(const std::string& path, std::uint16_t epoch);

/// Whom a file belongs to, and who may use it.
struct Ownership {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;
};
/// `whom` is for the message.
Status give_to(int fd, const Ownership& ownership, const std::string& whom);

}  // namespace sluice::kv
