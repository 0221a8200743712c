// SPDX-License-Identifier: MIT
#include "exec/lock_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "exec/errno_status.h"
#include "exec/proc_files.h"

namespace sluice::exec {
namespace {

// Beyond every place: where open() looks how /proc names the file. Only read locks lie here, so
// nobody is in another's way.
constexpr std::uint64_t kProbeOffset = std::uint64_t{1} << 62;

struct flock one_byte(short type, std::uint64_t offset) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = 1;
  return lock;
}

// The device that /proc shows is not always the one that stat() tells (btrfs, overlayfs), so a lock
// of our own is looked up there.
Result<std::string> identity_of(int fd, const std::string& path) {
  struct flock probe = one_byte(F_RDLCK, kProbeOffset);
  if (::fcntl(fd, F_OFD_SETLK, &probe) != 0)
    return system_failure(errno, "cannot lock a part of " + path);
  const std::vector<HeldRange> ranges = held_ranges_of_own(fd);
  struct flock no_more = one_byte(F_UNLCK, kProbeOffset);
  if (::fcntl(fd, F_OFD_SETLK, &no_more) != 0)
    return system_failure(errno, "cannot unlock a part of " + path);
  for (const HeldRange& range : ranges)
    if (range.first == kProbeOffset) return range.file;
  return error(Code::unavailable, "/proc/self/fdinfo does not show the lock on " + path +
                                      ": mount /proc, and try again");
}

bool same_file(int a, int b) {
  struct stat one{};
  struct stat other{};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

Result<LockFile> LockFile::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!descriptor.valid()) return system_failure(errno, "cannot open the lock file " + path);
  SLUICE_LET(identity, identity_of(descriptor.get(), path));
  return LockFile(path, std::move(descriptor), std::move(identity));
}

Result<std::optional<Lock>> LockFile::try_lock(std::uint64_t place) const {
  Descriptor own(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!own.valid() && errno != ENOENT)
    return system_failure(errno, "cannot open the lock file " + path_);
  if (!own.valid() || !same_file(own.get(), descriptor_.get()))
    return error(Code::io_error, "the lock file " + path_ +
                                     " was removed or replaced while in use, so others would not "
                                     "see its locks: restart every program that uses it");
  struct flock lock = one_byte(F_WRLCK, offset_of(place));
  if (::fcntl(own.get(), F_OFD_SETLK, &lock) == 0) return std::optional(Lock(std::move(own)));
  if (errno == EAGAIN || errno == EACCES) return std::optional<Lock>();
  return system_failure(errno, "cannot lock a part of " + path_);
}

Result<bool> LockFile::held(std::uint64_t place) const {
  struct flock lock = one_byte(F_WRLCK, offset_of(place));
  if (::fcntl(descriptor_.get(), F_OFD_GETLK, &lock) != 0)
    return system_failure(errno, "cannot look for locks on " + path_);
  return lock.l_type != F_UNLCK;
}

}  // namespace sluice::exec
