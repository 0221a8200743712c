// SPDX-License-Identifier: MIT
// The content of a file, carried from one to another.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>

#include "migrate/copy_order.h"

namespace sluice::migrate {

/// What is read from and written to. `to` is empty, at its beginning, and open for reading too if
/// the rules say verify.
struct DataOrder {
  int from = -1;
  int to = -1;
  const struct stat& info;  ///< Of `from`. Exactly `info.st_size` bytes are copied.
};

struct DataCopied {
  std::uint64_t bytes = 0;  ///< Without holes.
  std::optional<Hash> hash = {};
};

/// Copies the content in the cheapest way that both file systems allow: by one read and one write
/// if it is small, by sharing blocks, in the kernel, or through memory; always the last if it is
/// to be verified, which also waits until the disk has it. drift_src if `from` ends early. After a
/// fault `to` holds anything.
CopyResult<DataCopied> copy_data(const DataOrder& order, const CopyRules& rules);

}  // namespace sluice::migrate
