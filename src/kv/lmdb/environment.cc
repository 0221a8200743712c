// SPDX-License-Identifier: MIT
#include "kv/lmdb/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "kv/lmdb/create_store.h"
#include "kv/lmdb/meta_pages.h"

namespace sluice::kv {
namespace {

constexpr std::uint64_t kMapBytesMin = 1 << 20;

// LMDB needs coherent mmap and locks that die with their process.
bool is_network_file_system(const std::string& dir) {
  constexpr std::array<long, 8> kNetwork = {
      0x6969 /* nfs */,      0x517b /* smb */,     0xfe534d42 /* smb2 */, 0xff534d42 /* cifs */,
      0x01021997 /* v9fs */, 0x5346414f /* afs */, 0x00c36400 /* ceph */, 0x73757245 /* coda */};
  struct statfs info{};
  if (statfs(dir.c_str(), &info) != 0) return false;
  for (const long type : kNetwork)
    if (static_cast<std::uint32_t>(info.f_type) == static_cast<std::uint32_t>(type)) return true;
  return false;
}

// Of LMDB's descriptors only that of the data file is without O_CLOEXEC. A program that this
// process starts must not inherit a way to write into the store.
void close_on_exec(MDB_env* env) {
  int data = -1;
  if (mdb_env_get_fd(env, &data) == 0) fcntl(data, F_SETFD, FD_CLOEXEC);
}

}  // namespace

MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // NOLINT: LMDB's API is not const.
}

std::string_view to_view(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

Status lmdb_status(int rc, std::string_view doing) {
  if (rc == 0) return {};
  const std::string message = std::string(doing).append(": ").append(mdb_strerror(rc));
  switch (rc) {
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
      return {Code::storage_full, message};
    case MDB_READERS_FULL:
    case MDB_MAP_RESIZED:
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      return {Code::unavailable, message};
    case EACCES:
    case EPERM:
    case EROFS:
      return {Code::permission_denied, message};
    case ENOENT:
    case ENOTDIR:
      return {Code::not_found, message};
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
      return {Code::corrupt, message};
    default:
      return {Code::io_error, message};
  }
}

Status prepare_directory(const LmdbOptions& options) {
  const std::string& dir = options.dir;
  if (options.map_bytes < kMapBytesMin)
    return {Code::invalid_argument, "map_bytes must be at least 1 MiB"};
  if (dir.empty()) return {Code::invalid_argument, "a store needs a directory"};
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return lmdb_status(errno, "cannot make the directory " + dir);
  if (is_network_file_system(dir))
    return {Code::invalid_argument, dir + " is on a network file system: use a local disk"};
  return {};
}

Environment::Environment(std::string dir, std::unique_ptr<DirectoryClaim> claim)
    : dir_(std::move(dir)), claim_(std::move(claim)) {}

Environment::~Environment() {
  if (env_ != nullptr) mdb_env_close(env_);
}

Result<std::unique_ptr<Environment>> Environment::open(const LmdbOptions& options) {
  SLUICE_LET(claim, DirectoryClaim::take(options.dir));
  std::unique_ptr<Environment> environment(new Environment(options.dir, std::move(claim)));
  SLUICE_TRY(create_store(options));
  SLUICE_TRY(allocate_lock_file(options));
  SLUICE_TRY(environment->open_env(options));
  environment->clear_stale_readers();
  SLUICE_LET(dbi, open_database(environment->env_, options.dir));
  environment->dbi_ = dbi;
  return environment;
}

Status Environment::open_env(const LmdbOptions& options) {
  const auto step = [&](int rc) { return lmdb_status(rc, "cannot open the store in " + dir_); };
  SLUICE_TRY(step(mdb_env_create(&env_)));
  SLUICE_TRY(step(mdb_env_set_maxreaders(env_, options.readers_max)));
  // Durable mode: none of LMDB's flags that trade safety for speed. NOTLS ties a read transaction
  // to its handle, so that threads come and go; NORDAHEAD suits random access to a large file.
  const unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
  SLUICE_TRY(step(mdb_env_open(env_, dir_.c_str(), flags, 0600)));
  close_on_exec(env_);
  SLUICE_TRY(check_meta_pages(env_).with("cannot open the store in " + dir_));
  // Opened as it was stored, the map may grow but not shrink: other processes may rely on its size.
  if (info().me_mapsize < options.map_bytes)
    SLUICE_TRY(step(mdb_env_set_mapsize(env_, options.map_bytes)));
  if (options.preallocate) {
    int fd = -1;
    mdb_env_get_fd(env_, &fd);
    SLUICE_TRY(step(posix_fallocate(fd, 0, static_cast<off_t>(info().me_mapsize))));
  }
  MDB_stat stat{};
  mdb_env_stat(env_, &stat);
  page_bytes_ = stat.ms_psize;
  return {};
}

MDB_envinfo Environment::info() const {
  MDB_envinfo info{};
  mdb_env_info(env_, &info);
  return info;
}

Result<StoreHeader> Environment::header(MDB_txn* txn) const {
  return read_header(txn, dbi_, dir_);
}

Result<FileIdentity> Environment::file() const {
  int fd = -1;
  mdb_env_get_fd(env_, &fd);
  return identity_of(fd, dir_ + "/data.mdb");
}

Result<MDB_dbi> open_database(MDB_env* env, const std::string& name) {
  const auto step = [&](int rc) { return lmdb_status(rc, "cannot read the store in " + name); };
  MDB_txn* raw = nullptr;
  SLUICE_TRY(step(mdb_txn_begin(env, nullptr, MDB_RDONLY, &raw)));
  const TxnPtr txn(raw);
  MDB_dbi dbi = 0;
  SLUICE_TRY(step(mdb_dbi_open(raw, nullptr, 0, &dbi)));
  SLUICE_TRY(read_header(raw, dbi, name));
  return dbi;
}

int Environment::clear_stale_readers() const {
  int cleared = 0;
  mdb_reader_check(env_, &cleared);
  return cleared;
}

}  // namespace sluice::kv
