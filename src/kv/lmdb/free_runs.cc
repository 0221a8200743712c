// SPDX-License-Identifier: MIT
#include "kv/lmdb/free_runs.h"

namespace sluice::kv {
namespace {

constexpr std::uint64_t kOneIn = 16;
constexpr std::uint64_t kRunPages = 64;
constexpr std::uint64_t kListPagesMax = 8;  // Of 512 numbers.
// Behind the header, in the part of the keys that belongs to the store.
constexpr std::string_view kKey{"\0zz", 3};

}  // namespace

Status gather_free_pages(const Environment& environment, MDB_txn* txn,
                         std::uint64_t reserve_bytes) {
  if (mdb_txn_id(txn) % kOneIn != 0) return {};
  const std::uint64_t run_bytes = kRunPages * environment.page_bytes();
  const MDB_envinfo info = environment.info();
  const std::uint64_t used = (info.me_last_pgno + 1) * environment.page_bytes();
  if (info.me_mapsize < used + reserve_bytes + 2 * run_bytes) return {};
  MDB_stat list{};
  SLUICE_TRY(lmdb_status(mdb_stat(txn, kFreeList, &list), "look at the free list"));
  if (list.ms_leaf_pages + list.ms_overflow_pages > kListPagesMax) return {};
  MDB_val key = to_val(kKey);
  MDB_val value{.mv_size = run_bytes - environment.page_bytes(), .mv_data = nullptr};
  SLUICE_TRY(lmdb_status(mdb_put(txn, environment.dbi(), &key, &value, MDB_RESERVE), "gather"));
  return lmdb_status(mdb_del(txn, environment.dbi(), &key, nullptr), "gather");
}

}  // namespace sluice::kv
