// SPDX-License-Identifier: MIT
// The hash of a file's content, and its time as entries have it.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "migrate/entry.h"
#include "migrate/tree.h"

namespace sluice::migrate {

/// Since 1970. What an int64 cannot say becomes the nearest that it can.
std::int64_t nanoseconds_of(const struct statx_timestamp& time);

/// Reads `fd` from its offset, which should be 0, to the end. `changed` if it is not the file that
/// `entry` describes (kind, size, time), before or after the reading; `hash` means nothing then.
Fault hash_file(int fd, const Entry& entry, Hash& hash);

}  // namespace sluice::migrate
