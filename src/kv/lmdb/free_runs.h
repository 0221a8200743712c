// SPDX-License-Identifier: MIT
// Keeps the free pages of an LMDB file in long runs.
#pragma once

#include <lmdb.h>

#include <cstdint>

#include "kv/lmdb/environment.h"

namespace sluice::kv {

/// LMDB writes pages that are neighbours with one system call, but takes them off its free list in
/// the order in which commits freed them. Pages that live long amid ones that live short break that
/// list into ever shorter runs, until nearly every page is a call of its own. Asking for one long
/// run makes LMDB read the whole list, sort it, and go on from its lowest page.
///
/// For a transaction that has just begun; one of some does it, chosen by its number, so that a
/// repeated one does as before. Only while the list is short, as LMDB writes what it has read of it
/// with each commit, and while the map has room: the file may grow by what is asked for, but not
/// into the reserve. The list's limit also bounds that growth, to about 16 MiB. A failure leaves
/// the transaction to be aborted.
Status gather_free_pages(const Environment& environment, MDB_txn* txn, std::uint64_t reserve_bytes);

}  // namespace sluice::kv
