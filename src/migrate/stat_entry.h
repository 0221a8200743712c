// SPDX-License-Identifier: MIT
// What a file system says of a name, as an Entry.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "migrate/entry.h"

namespace sluice::migrate {

/// What a mode's type bits say; nothing for a type that Linux does not have.
std::optional<Kind> kind_of(mode_t mode);

/// Nanoseconds since 1970; the nearest that there is for a time too far away (1677, 2262).
std::int64_t time_ns(std::int64_t seconds, std::int64_t nanoseconds);

/// To the nanosecond.
bool is_same(const timespec& a, const timespec& b);

/// Without name and target. `device` and `inode` are set of a file that has several names.
Entry entry_of(const struct stat& info);

/// What stands at `name` in the directory `folder` now, without name and target; the errno
/// otherwise (ENOENT: nothing). Follows no link. One system call.
tl::expected<Entry, int> look_at(int folder, std::string_view name);

/// Whether `now` can still be what the ledger calls `known`: the same kind and, of a file, the same
/// size and time; of a device, the same numbers; of a link, the same time. A folder's time does not
/// count, as it changes with what is made in it.
bool still_is(const Entry& now, const Entry& known);

}  // namespace sluice::migrate
