// SPDX-License-Identifier: MIT
#include "kv/lmdb/create_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "kv/lmdb/descriptor.h"
#include "kv/lmdb/environment.h"

namespace sluice::kv {
namespace {

// 0, or errno.
int failed(bool failure) {
  return failure ? errno : 0;
}

// Commits the header to a new file, with LMDB's two syncs.
int write_new_file(const std::string& path, std::uint64_t map_bytes) {
  MDB_env* raw = nullptr;
  if (const int rc = mdb_env_create(&raw); rc != 0) return rc;
  const EnvPtr env(raw);
  int rc = mdb_env_set_mapsize(raw, map_bytes);
  if (rc == 0) rc = mdb_env_open(raw, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0600);
  MDB_txn* txn = nullptr;
  if (rc == 0) rc = mdb_txn_begin(raw, nullptr, 0, &txn);
  if (rc != 0) return rc;
  TxnPtr owned(txn);
  MDB_dbi dbi = 0;
  rc = mdb_dbi_open(txn, nullptr, 0, &dbi);
  if (rc == 0) rc = put_header(txn, dbi, {});  // The first writer says which file it is.
  return rc != 0 ? rc : mdb_txn_commit(owned.release());
}

}  // namespace

Status create_store(const LmdbOptions& options) {
  const std::string path = options.dir + "/data.mdb";
  const std::string unfinished = path + ".new";
  const auto step = [&](int rc) {
    return lmdb_status(rc, "cannot make a store in " + options.dir);
  };
  if (access(path.c_str(), F_OK) == 0) {
    ::unlink(unfinished.c_str());  // What a crash has left of a compaction.
    return {};
  }
  const Descriptor dir(::open(options.dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  SLUICE_TRY(step(failed(dir.get() < 0 || flock(dir.get(), LOCK_EX) != 0)));
  if (access(path.c_str(), F_OK) == 0) return {};  // Another process was faster.
  ::unlink(unfinished.c_str());                    // What a crash has left of an earlier try.
  SLUICE_TRY(step(write_new_file(unfinished, options.map_bytes)));
  SLUICE_TRY(step(failed(std::rename(unfinished.c_str(), path.c_str()) != 0)));
  return sync_names(options.dir);
}

Status allocate_lock_file(const LmdbOptions& options) {
  constexpr off_t kReaderBytes = 64;
  constexpr off_t kHeaderBytes = 192;  // With the first reader.
  const std::string path = options.dir + "/lock.mdb";
  const auto step = [&](int rc) { return lmdb_status(rc, "cannot make " + path); };
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  SLUICE_TRY(step(failed(file.get() < 0)));
  return step(posix_fallocate(file.get(), 0,
                              kHeaderBytes + kReaderBytes * (off_t{options.readers_max} - 1)));
}

Status sync_directory(const std::string& path) {
  const Descriptor dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return lmdb_status(failed(dir.get() < 0 || fsync(dir.get()) != 0),
                     "cannot sync the directory " + path);
}

Status sync_names(const std::string& dir) {
  SLUICE_TRY(sync_directory(dir));
  // The parent may be one that this user cannot read, and then somebody else made the directory.
  const Status parent = sync_directory(dir + "/..");
  return parent.code() == Code::permission_denied ? Status() : parent;
}

}  // namespace sluice::kv
