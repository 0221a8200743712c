// SPDX-License-Identifier: MIT
// The peer of bench_queue: LMDB without Sluice, made to write and erase what Sluice did.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lmdb_peer.h"

namespace sluice::bench {

/// One key that a transaction leaves with another value, or (without one) erases.
struct Change {
  std::string key;
  std::optional<std::string> value = {};
};
/// What one transaction changes, in key order.
using Changes = std::vector<Change>;

std::uint64_t bytes_of(const std::vector<Changes>& transactions);

/// What Sluice wrote for some batches of jobs: for each batch one transaction that enqueues it,
/// one that claims it and one that acks it.
struct Recording {
  std::vector<Changes> enqueues;
  std::vector<Changes> claims;
  std::vector<Changes> acks;
};

/// Lets Sluice enqueue, claim and ack `batches` batches of kBatch jobs in a store of its own under
/// `dir`, and reads from the store what each step changed.
Result<Recording> record(const std::string& dir, std::size_t batches);

/// LMDB with the flags that Sluice uses, and nothing around it.
class BareStore : public LmdbPeer {
 public:
  static Result<std::unique_ptr<BareStore>> open(const std::string& dir);

  /// Makes the changes in one transaction, and syncs it.
  Status commit(const Changes& changes);

 private:
  BareStore() = default;
  int write(MDB_txn* txn, const Changes& changes) const;
};

}  // namespace sluice::bench
