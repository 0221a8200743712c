// SPDX-License-Identifier: MIT
#include "kv/lmdb/alone.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "kv/lmdb/environment.h"

namespace sluice::kv {
namespace {

// What the locks are taken for, for messages.
struct Wish {
  const std::string& dir;
  std::string_view advice;

  Status in_use(std::string_view how) const {
    return {Code::unavailable,
            "the store in " + dir + " " + std::string(how) + ": " + std::string(advice)};
  }
};

// Takes a lock of the whole file at once or not at all.
Status lock_alone(int file, const Wish& wish, std::string_view otherwise) {
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) return wish.in_use(otherwise);
  return lmdb_status(errno, "cannot lock " + wish.dir);
}

// LMDB's own lock, which its tools take as well, and a program whose `bell` was removed meanwhile.
// It is one of the open file: LMDB's would be lost if anything in this process closed `lock.mdb`.
Status lock_out_lmdb(int locks, const Wish& wish) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (fcntl(locks, F_OFD_SETLK, &lock) == 0) return {};
  if (errno == EAGAIN || errno == EACCES) return wish.in_use("is open in a program that uses LMDB");
  return lmdb_status(errno, "cannot lock " + wish.dir + "/lock.mdb");
}

// Opens a file that may be missing: -1 then. Where nothing can be written no store is open.
Result<int> open_if_there(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno != ENOENT && errno != EROFS)
    return Failure{lmdb_status(errno, "cannot open " + path)};
  return fd;
}

}  // namespace

// The files are locked in the order in which they are opened by others. `lock.mdb` comes after the
// claim: if this process had the store open, to close that file would drop LMDB's locks.
Result<std::unique_ptr<Alone>> Alone::take(const std::string& dir, std::string_view advice) {
  const Wish wish{dir, advice};
  const int door = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (door < 0) return Failure{lmdb_status(errno, "cannot open " + dir)};
  Descriptor keep_door(door);
  SLUICE_TRY(lock_alone(door, wish, "is being opened or compacted"));
  SLUICE_LET(bell, open_if_there(dir + "/bell"));
  Descriptor keep_bell(bell);
  if (bell >= 0) SLUICE_TRY(lock_alone(bell, wish, "is open"));
  auto claim = DirectoryClaim::take(dir);
  if (!claim) return Failure{wish.in_use("is open in this process")};
  SLUICE_LET(locks, open_if_there(dir + "/lock.mdb"));
  Descriptor keep_locks(locks);
  if (locks >= 0) SLUICE_TRY(lock_out_lmdb(locks, wish));
  return std::unique_ptr<Alone>(
      new Alone(keep_door.release(), keep_bell.release(), std::move(*claim), keep_locks.release()));
}

}  // namespace sluice::kv
