// SPDX-License-Identifier: MIT
#include "kv/lmdb/copy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "kv/lmdb/meta_pages.h"

namespace sluice::kv {
namespace {

// What a copy has in common with its original, besides what is stored.
struct Numbers {
  std::uint64_t transaction = 0;
  std::uint64_t map_bytes = 0;
};

Status cannot(std::string_view verb, const std::string& path, int rc) {
  return lmdb_status(rc, std::string("cannot ").append(verb).append(" ").append(path));
}

// Another process may have given the store a larger map than this one has.
Result<Numbers> numbers_of(MDB_env* env) {
  MDB_envinfo info{};
  mdb_env_info(env, &info);
  int fd = -1;
  mdb_env_get_fd(env, &fd);
  SLUICE_LET(pages, read_meta_pages(fd, page_bytes_of(env)));
  return Numbers{.transaction = info.me_last_txnid,
                 .map_bytes = std::max(
                     {std::uint64_t{info.me_mapsize}, pages[0].map_bytes, pages[1].map_bytes})};
}

// LMDB begins a compacted copy at transaction 1, on the second meta page. A transaction's number
// tells which of the two pages is its own, so that an even one changes their places.
Status set_numbers(int fd, std::size_t page_bytes, const Numbers& numbers) {
  SLUICE_LET(pages, read_meta_pages(fd, page_bytes));
  if (pages[0].transaction != 0 || pages[1].transaction != 1)
    return {Code::corrupt, "the meta pages are not those of a new copy"};
  pages[1].transaction = numbers.transaction;
  if (numbers.transaction % 2 == 0) std::swap(pages[0], pages[1]);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    pages[i].page_number = i;
    pages[i].map_bytes = numbers.map_bytes;
    const auto at = static_cast<off_t>(i * page_bytes);
    const ssize_t size = pwrite(fd, &pages[i], sizeof(MetaPage), at);
    if (size != sizeof(MetaPage))
      return lmdb_status(size < 0 ? errno : EIO, "cannot write the meta pages");
  }
  return {};
}

Status check_copy(const std::string& path, const Numbers& numbers) {
  SLUICE_LET(env, open_file(path));
  MDB_envinfo info{};
  mdb_env_info(env.get(), &info);
  if (info.me_last_txnid != numbers.transaction || info.me_mapsize != numbers.map_bytes)
    return {Code::corrupt, path + " was not copied as it should: this LMDB is not known"};
  return status_of(open_database(env.get(), path));
}

}  // namespace

Result<int> make_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) return fd;
  if (errno == EEXIST)
    return error(Code::already_exists, path + " is there: another copy is being made, or was");
  return Failure{cannot("make", path, errno)};
}

Result<EnvPtr> open_file(const std::string& path) {
  MDB_env* raw = nullptr;
  SLUICE_TRY(cannot("open", path, mdb_env_create(&raw)));
  EnvPtr env(raw);
  constexpr unsigned kFlags = MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK;
  SLUICE_TRY(cannot("open", path, mdb_env_open(raw, path.c_str(), kFlags, 0600)));
  return env;
}

Result<StoreHeader> header_in(const std::string& path) {
  SLUICE_LET(env, open_file(path));
  SLUICE_TRY(check_meta_pages(env.get()).with(path));
  SLUICE_LET(dbi, open_database(env.get(), path));
  MDB_txn* raw = nullptr;
  SLUICE_TRY(cannot("read", path, mdb_txn_begin(env.get(), nullptr, MDB_RDONLY, &raw)));
  const TxnPtr txn(raw);
  return read_header(raw, dbi, path);
}

Status settle_in(const std::string& path, std::uint16_t epoch) {
  MDB_env* raw_env = nullptr;
  SLUICE_TRY(cannot("open", path, mdb_env_create(&raw_env)));
  const EnvPtr env(raw_env);
  constexpr unsigned kFlags = MDB_NOSUBDIR | MDB_NOLOCK;
  SLUICE_TRY(cannot("open", path, mdb_env_open(raw_env, path.c_str(), kFlags, 0600)));
  int fd = -1;
  mdb_env_get_fd(raw_env, &fd);
  SLUICE_LET(file, identity_of(fd, path));
  MDB_txn* raw = nullptr;
  SLUICE_TRY(cannot("write", path, mdb_txn_begin(raw_env, nullptr, 0, &raw)));
  TxnPtr txn(raw);
  MDB_dbi dbi = 0;
  int rc = mdb_dbi_open(raw, nullptr, 0, &dbi);
  if (rc == 0) rc = put_header(raw, dbi, {epoch, file});
  if (rc == 0) rc = mdb_txn_commit(txn.release());
  if (rc == 0) rc = mdb_env_sync(raw_env, 1);
  return cannot("write", path, rc);
}

Status give_to(int fd, const Ownership& ownership, const std::string& whom) {
  struct stat info{};
  if (fstat(fd, &info) == 0 &&
      ((info.st_uid == ownership.uid && info.st_gid == ownership.gid) ||
       fchown(fd, ownership.uid, ownership.gid) == 0) &&
      fchmod(fd, ownership.mode) == 0)
    return {};
  return lmdb_status(errno, "cannot give the new file to " + whom);
}

Status write_copy(MDB_env* env, int fd, const std::string& path) {
  int rc = mdb_env_copyfd2(env, fd, MDB_CP_COMPACT);
  // Nothing has been written then.
  int cleared = 0;
  if (rc == MDB_READERS_FULL && mdb_reader_check(env, &cleared) == 0 && cleared > 0)
    rc = mdb_env_copyfd2(env, fd, MDB_CP_COMPACT);
  if (rc == MDB_INCOMPATIBLE)
    return {Code::corrupt, "cannot write " + path + ": the store's pages do not add up"};
  SLUICE_TRY(cannot("write", path, rc));
  // After the copy, so that the number is at least that of what was copied.
  SLUICE_LET(numbers, numbers_of(env));
  SLUICE_TRY(set_numbers(fd, page_bytes_of(env), numbers).with(path));
  SLUICE_TRY(cannot("sync", path, fsync(fd) == 0 ? 0 : errno));
  return check_copy(path, numbers);
}

}  // namespace sluice::kv
