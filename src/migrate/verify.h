// SPDX-License-Identifier: MIT
// Proves that a ledger is what it should be.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::migrate {

struct VerifyReport {
  std::vector<std::string> problems = {};  ///< Each a sentence with the number of its invariant.
  std::uint64_t folders = 0;
  std::uint64_t entries = 0;
  std::uint64_t chunks = 0;
};

/// Reads the whole ledger in one snapshot, also while a run goes on. The invariants, in full in
/// docs/design/migrate.md:
/// M1 every key and record can be read, every checksum is right;
/// M2 a directory of the source is reached from the root exactly once, and has a record or a
///    pending entry;
/// M3 a directory of the destination has either only if its source has: they are joined by their
///    id;
/// M4 a block has exactly the chunks and entries that its directory's record says, in order;
/// M5 every counter is what a recount gives;
/// M6 steps are planned exactly where a verdict asks for them and the copy has not taken them;
/// M7 there is nothing else in the store.
///
/// At most a thousand problems are kept. Fails only if the store does, or the ledger is of a newer
/// version. Memory: some hundred bytes per directory. `invalid_argument` on an engine that cannot
/// hold a snapshot for long.
Result<VerifyReport> verify(kv::Store& store);

}  // namespace sluice::migrate
