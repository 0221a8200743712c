// SPDX-License-Identifier: MIT
// Reading from, and applying a body's writes to, an LMDB transaction.
#pragma once

#include <lmdb.h>

#include "kv/overlay.h"
#include "kv/view.h"

namespace sluice::kv {

/// Needs no record of what was read: LMDB has one writer at a time.
class LmdbView final : public View {
 public:
  LmdbView(MDB_txn* txn, MDB_dbi dbi) : txn_(txn), dbi_(dbi) {}

  Result<bool> get(std::string_view key, Isolation isolation, const ValueVisitor& visitor) override;
  Status scan(const Scan& scan, const Visitor& visitor) override;

 private:
  MDB_txn* txn_;
  MDB_dbi dbi_;
};

/// A failure leaves part of the overlay in the transaction, which must then be aborted.
class LmdbSink final : public Sink {
 public:
  LmdbSink(MDB_txn* txn, MDB_dbi dbi) : txn_(txn), dbi_(dbi) {}

  Status put(std::string_view key, std::string_view value) override;
  Status erase(std::string_view key) override;
  Status erase_range(std::string_view begin, std::string_view end) override;
  Status add(std::string_view key, std::int64_t delta) override;

 private:
  MDB_txn* txn_;
  MDB_dbi dbi_;
};

}  // namespace sluice::kv
