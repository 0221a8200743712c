// SPDX-License-Identifier: MIT
#include "exec/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "exec/errno_status.h"

namespace sluice::exec {
namespace {

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uint64_t page_floor(std::uint64_t offset) {
  return offset - offset % page_bytes();
}

}  // namespace

Result<Descriptor> open_output(int dir_fd, const std::string& name) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  Descriptor file(::openat(dir_fd, name.c_str(), kFlags, 0600));
  if (!file.valid()) return system_failure(errno, "cannot open the output file " + name);
  return file;
}

// A lease for writing is granted only to the one who has the file to himself.
bool is_unused(int fd) {
  if (::fcntl(fd, F_SETLEASE, F_WRLCK) != 0) return false;
  ::fcntl(fd, F_SETLEASE, F_UNLCK);
  struct stat info{};
  return ::fstat(fd, &info) == 0 && info.st_size == 0;
}

Status OutputCap::enforce(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return system_failure(errno, "cannot look at the output file");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  // The program may have emptied its own output and begun again.
  if (size < freed_to_) freed_to_ = 0;
  if (size <= half_) return {};
  const std::uint64_t end = page_floor(size - half_);
  const std::uint64_t begin = std::max(page_floor(half_ + page_bytes() - 1), freed_to_);
  if (begin >= end) return {};
  if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                  static_cast<off_t>(end - begin)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS)
      return error(Code::unavailable,
                   "the file system of the output cannot free a part of a file, so the output is "
                   "not bounded: keep it on ext4, xfs, btrfs or tmpfs, or stop the program");
    return system_failure(errno, "cannot free the middle of the output file");
  }
  freed_to_ = end;
  return {};
}

Result<std::optional<Hole>> hole_of(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size < 0) return system_failure(errno, "cannot find the end of the output file");
  const off_t begin = size == 0 ? 0 : ::lseek(fd, 0, SEEK_HOLE);
  if (begin < 0) return system_failure(errno, "cannot look for a hole in the output file");
  if (begin >= size) return std::optional<Hole>();
  const off_t data = ::lseek(fd, begin, SEEK_DATA);
  // ENXIO: nothing but the hole up to the end.
  if (data < 0 && errno != ENXIO)
    return system_failure(errno, "cannot look for the end of a hole in the output file");
  return std::optional(Hole{.begin = static_cast<std::uint64_t>(begin),
                            .end = static_cast<std::uint64_t>(data < 0 ? size : data)});
}

}  // namespace sluice::exec
