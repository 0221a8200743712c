// SPDX-License-Identifier: MIT
#include "lmdb_peer.h"

#include <sluice/kv.h>
#include <sys/stat.h>

namespace sluice::bench {

Status lmdb_failed(int rc) {
  return rc == 0 ? Status() : Status(Code::io_error, std::string("LMDB: ") + mdb_strerror(rc));
}

Status LmdbPeer::open_in(const std::string& dir) {
  if (mkdir(dir.c_str(), 0700) != 0) return error(Code::io_error, "cannot make " + dir);
  SLUICE_TRY(lmdb_failed(mdb_env_create(&env_)));
  SLUICE_TRY(lmdb_failed(mdb_env_set_mapsize(env_, kv::LmdbOptions().map_bytes)));
  const unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
  SLUICE_TRY(lmdb_failed(mdb_env_open(env_, dir.c_str(), flags, 0600)));
  MDB_txn* txn = nullptr;
  SLUICE_TRY(lmdb_failed(mdb_txn_begin(env_, nullptr, 0, &txn)));
  SLUICE_TRY(lmdb_failed(mdb_dbi_open(txn, nullptr, 0, &dbi_)));
  return lmdb_failed(mdb_txn_commit(txn));
}

LmdbPeer::~LmdbPeer() {
  mdb_env_close(env_);
}

}  // namespace sluice::bench
