// SPDX-License-Identifier: MIT
#include "kv/lmdb/lmdb_view.h"

#include <memory>
#include <string>

#include "kv/lmdb/environment.h"

namespace sluice::kv {
namespace {

struct CursorClose {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using CursorPtr = std::unique_ptr<MDB_cursor, CursorClose>;

Result<CursorPtr> open_cursor(MDB_txn* txn, MDB_dbi dbi) {
  MDB_cursor* cursor = nullptr;
  SLUICE_TRY(lmdb_status(mdb_cursor_open(txn, dbi, &cursor), "cursor"));
  return CursorPtr(cursor);
}

// The first key at or after `at`.
int seek(MDB_cursor* cursor, std::string_view at, MDB_val* key, MDB_val* value) {
  if (at.empty()) return mdb_cursor_get(cursor, key, value, MDB_FIRST);  // LMDB has no empty key.
  *key = to_val(at);
  return mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
}

int seek_before(MDB_cursor* cursor, std::string_view at, MDB_val* key, MDB_val* value) {
  const int rc = seek(cursor, at, key, value);
  if (rc == MDB_NOTFOUND) return mdb_cursor_get(cursor, key, value, MDB_LAST);
  return rc != 0 ? rc : mdb_cursor_get(cursor, key, value, MDB_PREV);
}

}  // namespace

Result<bool> LmdbView::get(std::string_view key, Isolation, const ValueVisitor& visitor) {
  MDB_val k = to_val(key);
  MDB_val v{};
  const int rc = mdb_get(txn_, dbi_, &k, &v);
  if (rc == MDB_NOTFOUND) return false;
  if (rc != 0) return Failure{lmdb_status(rc, "get")};
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
  for (; rc == 0; rc = mdb_cursor_get(cursor.get(), &key, &value, step)) {
    const std::string_view at = to_view(key);
    if (scan.reverse ? at < scan.begin : at >= scan.end) return {};
    if (!visitor(at, to_view(value))) return {};
  }
  return rc == MDB_NOTFOUND ? Status() : lmdb_status(rc, "scan");
}

Status LmdbSink::put(std::string_view key, std::string_view value) {
  MDB_val k = to_val(key);
  MDB_val v = to_val(value);
  return lmdb_status(mdb_put(txn_, dbi_, &k, &v, 0), "put");
}

Status LmdbSink::erase(std::string_view key) {
  MDB_val k = to_val(key);
  const int rc = mdb_del(txn_, dbi_, &k, nullptr);
  return rc == MDB_NOTFOUND ? Status() : lmdb_status(rc, "erase");
}

Status LmdbSink::erase_range(std::string_view begin, std::string_view end) {
  SLUICE_LET(cursor, open_cursor(txn_, dbi_));
  MDB_val key{};
  MDB_val value{};
  int rc = seek(cursor.get(), begin, &key, &value);
  // After a deletion the cursor already stands on the next key, which MDB_NEXT then returns.
  for (; rc == 0 && to_view(key) < end; rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT))
    if (const int deleted = mdb_cursor_del(cursor.get(), 0); deleted != 0)
      return lmdb_status(deleted, "erase_range");
  return rc == MDB_NOTFOUND ? Status() : lmdb_status(rc, "erase_range");
}

Status LmdbSink::add(std::string_view key, std::int64_t delta) {
  MDB_val k = to_val(key);
  MDB_val v{};
  const int rc = mdb_get(txn_, dbi_, &k, &v);
  if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_status(rc, "add");
  const auto sum = counter_after(rc == 0 ? to_view(v) : std::string_view(), delta);
  return put(key, {sum.data(), sum.size()});
}

}  // namespace sluice::kv
