// SPDX-License-Identifier: MIT
// The swarms in a file, so that a tracker that starts again knows its peers. The format is
// described in docs/format/retracker.md.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstdint>
#include <string>

#include "tracker/swarms.h"

namespace sluice::tracker {

/// What a snapshot held or holds.
struct SnapshotSize {
  std::uint64_t swarms = 0;
  std::uint64_t peers = 0;
  std::uint64_t bytes = 0;
};

/// Replaces the file at `path`: whoever reads it finds the old one or the new one, whole, also
/// after a power cut. It is written as `path`.new beside it first, so only one may write at a time.
/// After a failure the old file is as it was. A file there that is no snapshot, or one of a newer
/// version, is not replaced: `invalid_argument`.
///
/// The swarms are copied lock by lock, and nothing is written under a lock; hence each swarm is
/// from one moment, all of them are not.
Result<SnapshotSize> write_snapshot(const Swarms& swarms, const std::string& path,
                                    const Clock& clock);

/// Enters what the file holds; `not_found` if there is none. Peers are as old as they were, and as
/// much older as time has passed by the date; if the date went back, they are as old as they were.
/// Those that are too old by now are left out, and so are swarms that are known already. `corrupt`
/// if the file is damaged, `invalid_argument` if it is of another version or no snapshot: then
/// nothing is entered. The result counts what was entered.
///
/// The whole file is in memory meanwhile.
Result<SnapshotSize> read_snapshot(Swarms& swarms, const std::string& path, const Clock& clock);

/// Renames a damaged snapshot to `path`.bad-TIME, so that the next one does not replace it. The new
/// name.
Result<std::string> put_snapshot_aside(const std::string& path, const Clock& clock);

}  // namespace sluice::tracker
