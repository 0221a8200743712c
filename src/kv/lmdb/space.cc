// SPDX-License-Identifier: MIT
#include "kv/lmdb/space.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

namespace sluice::kv {
namespace {

// LMDB tells about its readers only as lines of text: "pid thread txnid", or "-" for no txnid.
int note_reader(const char* line, void* context) {
  auto& readers = *static_cast<Readers*>(context);
  int pid = 0;
  unsigned long thread = 0;
  unsigned long txnid = 0;
  const int words = std::sscanf(line, "%d %lx %lu", &pid, &thread, &txnid);
  if (words >= 2) ++readers.count;
  if (words == 3) readers.oldest = std::min<std::uint64_t>(readers.oldest, txnid);
  return 0;
}

Result<std::uint64_t> free_pages_before(MDB_txn* txn, std::uint64_t before) {
  MDB_cursor* cursor = nullptr;
  SLUICE_TRY(lmdb_status(mdb_cursor_open(txn, kFreeList, &cursor), "free list"));
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

Readers look_at_readers(const Environment& environment) {
  Readers readers;
  mdb_reader_list(environment.get(), note_reader, &readers);
  return readers;
}

Result<std::uint64_t> reusable_pages(const Environment& environment, MDB_txn* txn) {
  const std::uint64_t oldest = look_at_readers(environment).oldest;
  // LMDB shows its free list to readers only. This one sees what the writer started from.
  MDB_txn* raw = nullptr;
  SLUICE_TRY(lmdb_status(mdb_txn_begin(environment.get(), nullptr, MDB_RDONLY, &raw), "free list"));
  const TxnPtr reader(raw);
  // The writer's own number less one: see mdb_find_oldest() in LMDB.
  return free_pages_before(raw, std::min<std::uint64_t>(oldest, mdb_txn_id(txn) - 1));
}

Result<std::uint64_t> free_pages(MDB_txn* txn) {
  return free_pages_before(txn, std::numeric_limits<std::uint64_t>::max());
}

Space::Space(const Environment& environment, MDB_txn* txn, std::uint64_t reserve_bytes)
    : environment_(environment), txn_(txn) {
  const MDB_envinfo info = environment.info();
  MDB_stat stat{};
  mdb_stat(txn, environment.dbi(), &stat);
  depth_ = stat.ms_depth;
  tree_ = stat.ms_branch_pages + stat.ms_leaf_pages;
  tail_ = info.me_mapsize / environment.page_bytes() - (info.me_last_pgno + 1);
  reserve_ = reserve_bytes / environment.page_bytes();
}

// A key that is written copies the pages from the root to its leaf, and one that is added may split
// them; large values need pages of their own; an erased range may touch every page.
Space::Used Space::used_with(const Overlay& overlay) const {
  const std::uint64_t copied = overlay.erases_ranges() ? tree_ : overlay.key_count() * depth_;
  const std::uint64_t added = overlay.put_count() + 2 * overlay.bytes() / environment_.page_bytes();
  return {.copied = used_.copied + copied, .added = used_.added + added};
}

Result<bool> Space::take(const Overlay& overlay) {
  constexpr std::uint64_t kFreeListPages = 16;
  const Used used = used_with(overlay);
  // No page is copied twice in one transaction.
  const std::uint64_t needed =
      std::min(used.copied, tree_ + used.added) + used.added + kFreeListPages + reserve_;
  if (needed > tail_) {
    if (!free_) {
      SLUICE_LET(reusable, reusable_pages(environment_, txn_));
      free_ = reusable;
    }
    if (needed > tail_ + *free_) return false;
  }
  used_ = used;
  return true;
}

}  // namespace sluice::kv
