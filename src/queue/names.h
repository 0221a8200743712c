// SPDX-License-Identifier: MIT
// Names of queues, groups, jobs, workers: what they may be, and what stands for them in keys.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "queue/bytes16.h"

namespace sluice::queue {

/// `invalid_argument`, saying what `what` may be, unless `name` is 1 to kNameBytesMax bytes of
/// UTF-8.
Status check_name(std::string_view what, std::string_view name);
/// The same, but empty is fine.
Status check_name_or_empty(std::string_view what, std::string_view name);

/// What stands for a queue's or a group's name in keys.
Bytes16 hash_of(std::string_view name);

/// `text`, cut to `bytes_max` without splitting a character.
std::string_view cut_text(std::string_view text, std::size_t bytes_max);

/// 26 characters that sort by time, then by `high` and `low`, of which 80 bits count.
std::string ulid(std::uint64_t ms, std::uint16_t high, std::uint64_t low);

std::string to_hex(std::string_view bytes);

}  // namespace sluice::queue
