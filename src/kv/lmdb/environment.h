// SPDX-License-Identifier: MIT
// One opened LMDB environment: its files, flags and format header, and what LMDB's errors mean.
#pragma once

#include <lmdb.h>
#include <sluice/kv.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kv/lmdb/directory_claim.h"
#include "kv/lmdb/header.h"

namespace sluice::kv {

/// The key of the header record, which users of the store cannot reach. It is the first of all
/// keys: were it the last, no insertion would be an append for LMDB, which leaves its pages full
/// only when keys are appended.
inline constexpr std::string_view kHeaderKey{"\0sluice", 7};
/// LMDB's own database: commit number -> list of freed pages.
inline constexpr MDB_dbi kFreeList = 0;
/// Where the keys of users begin.
inline constexpr std::string_view kFirstUserKey = "\x01";

MDB_val to_val(std::string_view bytes);
std::string_view to_view(const MDB_val& val);

/// What an LMDB or system error code means outside of a commit.
Status lmdb_status(int rc, std::string_view doing);

/// Closes an environment; its transactions must have ended.
struct EnvClose {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};
using EnvPtr = std::unique_ptr<MDB_env, EnvClose>;

/// Opens the unnamed database of `env`, the file of a store that messages call `name`. Fails with
/// `invalid_argument` if the file is another program's or of a format that this one cannot read.
Result<MDB_dbi> open_database(MDB_env* env, const std::string& name);

/// Refuses options that no store can have, and directories that none can be in (network file
/// systems); makes the directory if it is missing.
Status prepare_directory(const LmdbOptions& options);

/// Owns the MDB_env, and this process's claim to the directory.
class Environment {
 public:
  /// After prepare_directory(), and while a SharedFile of the directory is open: it keeps
  /// compact_lmdb() out, which would replace the data file.
  static Result<std::unique_ptr<Environment>> open(const LmdbOptions& options);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  MDB_env* get() const { return env_; }
  /// The unnamed database, which holds everything.
  MDB_dbi dbi() const { return dbi_; }
  const std::string& dir() const { return dir_; }

  MDB_envinfo info() const;
  std::size_t page_bytes() const { return page_bytes_; }

  /// As `txn` sees it.
  Result<StoreHeader> header(MDB_txn* txn) const;
  /// The file that is open.
  Result<FileIdentity> file() const;

  /// Frees the reader slots of killed processes, which would keep old pages from being used again.
  /// Returns how many.
  int clear_stale_readers() const;

 private:
  Environment(std::string dir, std::unique_ptr<DirectoryClaim> claim);
  Status open_env(const LmdbOptions& options);

  std::string dir_;
  const std::unique_ptr<DirectoryClaim> claim_;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  std::size_t page_bytes_ = 0;
};

/// Ends an LMDB transaction that was not committed.
struct TxnAbort {
  void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
};
using TxnPtr = std::unique_ptr<MDB_txn, TxnAbort>;

}  // namespace sluice::kv
