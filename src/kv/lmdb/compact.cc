// SPDX-License-Identifier: MIT
// Replaces the data file of a store that nobody has open.
//
// Every process that has the store open holds the file `bell` locked as shared, from before it
// opens the data file until after it has closed it, and takes that lock under one of the directory
// (see SharedFile::open). So whoever holds both exclusively is alone, and who comes waits at the
// directory, before it has looked at any file.
#include <fcntl.h>
#include <sluice/kv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "kv/lmdb/copy_file.h"
#include "kv/lmdb/create_store.h"
#include "kv/lmdb/descriptor.h"
#include "kv/lmdb/directory_claim.h"

namespace sluice::kv {
namespace {

Status in_use(const std::string& dir, std::string_view how) {
  return {Code::unavailable, "the store in " + dir + " " + std::string(how) +
                                 ": stop every program that uses it, then compact it again"};
}

// Takes a lock of the whole file at once or not at all.
Status lock_alone(const Descriptor& file, const std::string& dir, std::string_view otherwise) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) return in_use(dir, otherwise);
  return lmdb_status(errno, "cannot lock " + dir);
}

// LMDB's own lock, which its tools take as well, and a program whose `bell` was removed meanwhile.
// It is one of the open file: LMDB's would be lost if anything in this process closed `lock.mdb`.
Status lock_out_lmdb(const Descriptor& locks, const std::string& dir) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (fcntl(locks.get(), F_OFD_SETLK, &lock) == 0) return {};
  if (errno == EAGAIN || errno == EACCES) return in_use(dir, "is open in a program that uses LMDB");
  return lmdb_status(errno, "cannot lock " + dir + "/lock.mdb");
}

// Opens a file that may be missing: -1 then.
Result<int> open_if_there(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno != ENOENT) return Failure{lmdb_status(errno, "cannot open " + path)};
  return fd;
}

// Whoever compacts a store may be another user (root), but leaves it to its own.
Status keep_owner(const std::string& from, int to) {
  struct stat old{};
  struct stat made{};
  const bool known = stat(from.c_str(), &old) == 0 && fstat(to, &made) == 0;
  const bool same = old.st_uid == made.st_uid && old.st_gid == made.st_gid;
  if (known && (same || fchown(to, old.st_uid, old.st_gid) == 0) &&
      fchmod(to, old.st_mode & 07777) == 0)
    return {};
  return lmdb_status(errno, "cannot give the new file to the owner of " + from);
}

Status write_anew(const std::string& data, const std::string& unfinished, const std::string& dir) {
  SLUICE_LET(env, open_file(data));
  SLUICE_TRY(open_database(env.get(), dir));
  SLUICE_LET(fd, make_file(unfinished));
  const Descriptor file(fd);
  SLUICE_TRY(keep_owner(data, fd));
  return write_copy(env.get(), fd, unfinished);
}

Status rewrite(const std::string& dir) {
  const std::string data = dir + "/data.mdb";
  const std::string unfinished = data + ".new";
  ::unlink(unfinished.c_str());  // What a crash has left of an earlier try.
  Status status = write_anew(data, unfinished, dir);
  if (status.ok() && std::rename(unfinished.c_str(), data.c_str()) != 0)
    status = lmdb_status(errno, "cannot replace " + data);
  if (status.ok()) return sync_directory(dir);
  ::unlink(unfinished.c_str());
  return status;
}

}  // namespace

// The files are locked in the order in which they are opened by others. `lock.mdb` comes after the
// claim: if this process had the store open, to close that file would drop LMDB's locks.
Status compact_lmdb(const LmdbOptions& options) {
  const std::string& dir = options.dir;
  const Descriptor door(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (door.get() < 0) return lmdb_status(errno, "cannot open " + dir);
  SLUICE_TRY(lock_alone(door, dir, "is being opened or compacted"));
  SLUICE_LET(bell_fd, open_if_there(dir + "/bell"));
  const Descriptor bell(bell_fd);
  if (bell.get() >= 0) SLUICE_TRY(lock_alone(bell, dir, "is open"));
  const auto claim = DirectoryClaim::take(dir);
  if (!claim) return in_use(dir, "is open in this process");
  SLUICE_LET(locks_fd, open_if_there(dir + "/lock.mdb"));
  const Descriptor locks(locks_fd);
  if (locks.get() >= 0) SLUICE_TRY(lock_out_lmdb(locks, dir));
  return rewrite(dir);
}

}  // namespace sluice::kv
