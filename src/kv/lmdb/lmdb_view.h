// SPDX-License-Identifier: MIT
// Reading from, and applying a body's writes to, an LMDB transaction.
#pragma once

#include <lmdb.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kv/lmdb/environment.h"
#include "kv/lmdb/residence.h"
#include "kv/overlay.h"
#include "kv/view.h"

namespace sluice::kv {

struct CursorClose {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using CursorPtr = std::unique_ptr<MDB_cursor, CursorClose>;

/// Needs no record of what was read: LMDB has one writer at a time. Serves one body, and must be
/// gone before the transaction is written to or ends.
class LmdbView final : public View {
 public:
  /// `environment` outlives it.
  LmdbView(MDB_txn* txn, const Environment& environment)
      : txn_(txn), dbi_(environment.dbi()), environment_(environment) {}

  Result<bool> get(std::string_view key, Isolation isolation, const ValueVisitor& visitor) override;
  Status scan(const Scan& scan, const Visitor& visitor) override;
  Result<std::uint16_t> epoch() override {
    SLUICE_LET(header, environment_.header(txn_));
    return header.epoch;
  }

 private:
  MDB_txn* txn_;
  MDB_dbi dbi_;
  const Environment& environment_;
  // One cursor for all keys that are asked for: it finds one near the last without a walk from the
  // root.
  CursorPtr cursor_;
  // Nothing lies between these two, if the second is not empty: whoever looks up new keys in their
  // order asks LMDB once. The second points into the map.
  std::string gap_begin_;
  std::string_view gap_end_;
};

/// Applies one overlay after another to the same transaction. A failure leaves part of an overlay
/// in it, which must then be aborted; the sink does not outlive the transaction.
class LmdbSink final : public Sink {
 public:
  /// `residence` outlives it.
  static Result<LmdbSink> open(MDB_txn* txn, MDB_dbi dbi, const Residence& residence);

  Status put(std::string_view key, std::string_view value) override;
  Status erase(std::string_view key) override;
  Status erase_range(std::string_view begin, std::string_view end) override;
  Status add(std::string_view key, std::int64_t delta) override;

 private:
  LmdbSink(CursorPtr cursor, const Residence& residence)
      : cursor_(std::move(cursor)), residence_(&residence) {}

  // One cursor for all writes: it finds a key near the last one without a walk from the root.
  CursorPtr cursor_;
  const Residence* residence_;
};

}  // namespace sluice::kv
