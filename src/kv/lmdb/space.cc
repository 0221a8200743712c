// SPDX-License-Identifier: MIT
#include "kv/lmdb/space.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/mutant.h"

namespace sluice::kv {
namespace {

constexpr MDB_dbi kFreeDbi = 0;  // LMDB's own database: commit number -> list of freed pages.

// LMDB tells about its readers only as lines of text: "pid thread txnid", or "-" for no txnid.
int note_oldest(const char* line, void* context) {
  auto& oldest = *static_cast<std::uint64_t*>(context);
  int pid = 0;
  unsigned long thread = 0;
  unsigned long txnid = 0;
  if (std::sscanf(line, "%d %lx %lu", &pid, &thread, &txnid) == 3)
    oldest = std::min<std::uint64_t>(oldest, txnid);
  return 0;
}

Result<std::uint64_t> free_pages_before(MDB_txn* txn, std::uint64_t before) {
  MDB_cursor* cursor = nullptr;
  SLUICE_TRY(lmdb_status(mdb_cursor_open(txn, kFreeDbi, &cursor), "free list"));
  MDB_val key{};
  MDB_val value{};
  std::uint64_t pages = 0;
  int rc = 0;
  while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    std::size_t commit = 0;
    std::size_t count = 0;
    std::memcpy(&commit, key.mv_data, sizeof commit);
    if (commit >= before) break;
    std::memcpy(&count, value.mv_data, sizeof count);
    pages += count;
  }
  mdb_cursor_close(cursor);
  if (rc != 0 && rc != MDB_NOTFOUND) return Failure{lmdb_status(rc, "free list")};
  return pages;
}

}  // namespace

Result<std::uint64_t> reusable_pages(const Environment& environment, MDB_txn* txn) {
  // The writer's own number less one: see mdb_find_oldest() in LMDB.
  std::uint64_t oldest = mdb_txn_id(txn) - 1;
  mdb_reader_list(environment.get(), note_oldest, &oldest);
  return free_pages_before(txn, oldest);
}

Result<std::uint64_t> free_pages(MDB_txn* txn) {
  return free_pages_before(txn, std::numeric_limits<std::uint64_t>::max());
}

// Each key may copy a whole path of the tree and split its leaf; values may need pages of their
// own; saving the free list needs a few.
std::uint64_t Space::pages_for(std::size_t keys, std::size_t bytes) const {
  constexpr std::uint64_t kFreeListPages = 8;
  return keys * (depth_ + 2) + 2 * bytes / environment_.page_bytes() + kFreeListPages;
}

Space::Space(const Environment& environment, MDB_txn* txn, std::uint64_t reserve_bytes)
    : environment_(environment), txn_(txn) {
  const MDB_envinfo info = environment.info();
  MDB_stat stat{};
  mdb_stat(txn, environment.dbi(), &stat);
  depth_ = stat.ms_depth;
  tail_ = info.me_mapsize / environment.page_bytes() - (info.me_last_pgno + 1);
  reserve_ = reserve_bytes / environment.page_bytes();
}

Result<bool> Space::take(std::size_t keys, std::size_t bytes) {
  if (mutant("kv.no_reserve")) return true;
  const std::uint64_t pages = pages_for(keys, bytes);
  const std::uint64_t needed = taken_ + pages + reserve_;
  if (needed > tail_) {
    if (!free_) {
      SLUICE_LET(reusable, reusable_pages(environment_, txn_));
      free_ = reusable;
    }
    if (needed > tail_ + *free_) return false;
  }
  taken_ += pages;
  return true;
}

}  // namespace sluice::kv
