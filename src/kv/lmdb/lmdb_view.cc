// SPDX-License-Identifier: MIT
#include "kv/lmdb/lmdb_view.h"

#include <algorithm>
#include <string>

#include "kv/lmdb/environment.h"

namespace sluice::kv {
namespace {

Result<CursorPtr> open_cursor(MDB_txn* txn, MDB_dbi dbi) {
  MDB_cursor* cursor = nullptr;
  SLUICE_TRY(lmdb_status(mdb_cursor_open(txn, dbi, &cursor), "cursor"));
  return CursorPtr(cursor);
}

// The first key of users at or after `at`.
int seek(MDB_cursor* cursor, std::string_view at, MDB_val* key, MDB_val* value) {
  *key = to_val(std::max(at, kFirstUserKey));
  return mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
}

int seek_before(MDB_cursor* cursor, std::string_view at, MDB_val* key, MDB_val* value) {
  const int rc = seek(cursor, at, key, value);
  if (rc == MDB_NOTFOUND) return mdb_cursor_get(cursor, key, value, MDB_LAST);
  return rc != 0 ? rc : mdb_cursor_get(cursor, key, value, MDB_PREV);
}

}  // namespace

Result<bool> LmdbView::get(std::string_view key, Isolation, const ValueVisitor& visitor) {
  if (!cursor_) {
    SLUICE_LET(cursor, open_cursor(txn_, dbi_));
    cursor_ = std::move(cursor);
  }
  if (gap_begin_ < key && key < gap_end_) return false;
  MDB_val k = to_val(key);
  MDB_val v{};
  const int rc = mdb_cursor_get(cursor_.get(), &k, &v, MDB_SET_RANGE);
  if (rc == MDB_NOTFOUND) return false;
  if (rc != 0) return Failure{lmdb_status(rc, "get")};
  if (to_view(k) != key) {
    gap_begin_ = key;
    gap_end_ = to_view(k);
    return false;
  }
  visitor(to_view(v));
  return true;
}

Status LmdbView::scan(const Scan& scan, const Visitor& visitor) {
  SLUICE_LET(cursor, open_cursor(txn_, dbi_));
  MDB_val key{};
  MDB_val value{};
  int rc = scan.reverse ? seek_before(cursor.get(), scan.end, &key, &value)
                        : seek(cursor.get(), scan.begin, &key, &value);
  const MDB_cursor_op step = scan.reverse ? MDB_PREV : MDB_NEXT;
  const std::string_view begin = std::max(scan.begin, kFirstUserKey);
  // A damaged page can hold keys of anywhere, and lead round in a circle: whoever scans relies on
  // keys that lie in the range, and on an end.
  std::string_view last = scan.reverse ? scan.end : scan.begin;
  for (bool first = true; rc == 0; first = false) {
    const std::string_view at = to_view(key);
    if (scan.reverse ? at < begin : at >= scan.end) return {};
    const bool in_order = scan.reverse ? at < last : at > last || (first && at == last);
    if (!in_order) return error(Code::corrupt, "scan: the keys of the store are out of order");
    if (!visitor(at, to_view(value))) return {};
    last = at;
    rc = mdb_cursor_get(cursor.get(), &key, &value, step);
  }
  return rc == MDB_NOTFOUND ? Status() : lmdb_status(rc, "scan");
}

Result<LmdbSink> LmdbSink::open(MDB_txn* txn, MDB_dbi dbi, const Residence& residence) {
  SLUICE_LET(cursor, open_cursor(txn, dbi));
  return LmdbSink(std::move(cursor), residence);
}

Status LmdbSink::put(std::string_view key, std::string_view value) {
  MDB_val k = to_val(key);
  MDB_val v = to_val(value);
  return lmdb_status(mdb_cursor_put(cursor_.get(), &k, &v, 0), "put");
}

Status LmdbSink::erase(std::string_view key) {
  MDB_val k = to_val(key);
  int rc = mdb_cursor_get(cursor_.get(), &k, nullptr, MDB_SET);
  if (rc == 0) rc = mdb_cursor_del(cursor_.get(), 0);
  return rc == MDB_NOTFOUND ? Status() : lmdb_status(rc, "erase");
}

Status LmdbSink::erase_range(std::string_view begin, std::string_view end) {
  MDB_val key{};
  MDB_val value{};
  int rc = seek(cursor_.get(), begin, &key, &value);
  // After a deletion the cursor already stands on the next key, which MDB_NEXT then returns.
  for (std::uint32_t erased = 1; rc == 0 && to_view(key) < end; ++erased) {
    if (const int deleted = mdb_cursor_del(cursor_.get(), 0); deleted != 0)
      return lmdb_status(deleted, "erase_range");
    if (erased % Residence::kValuesPerLook == 0) residence_->look();
    rc = mdb_cursor_get(cursor_.get(), &key, &value, MDB_NEXT);
  }
  return rc == MDB_NOTFOUND ? Status() : lmdb_status(rc, "erase_range");
}

Status LmdbSink::add(std::string_view key, std::int64_t delta) {
  MDB_val k = to_val(key);
  MDB_val v{};
  const int rc = mdb_cursor_get(cursor_.get(), &k, &v, MDB_SET);
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_status(rc, "add");
  const auto sum = counter_after(rc == 0 ? to_view(v) : std::string_view(), delta);
  return put(key, {sum.data(), sum.size()});
}

}  // namespace sluice::kv
