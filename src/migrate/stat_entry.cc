// SPDX-License-Identifier: MIT
#include "migrate/stat_entry.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <limits>

#include "migrate/system_call.h"

namespace sluice::migrate {

std::optional<Kind> kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return Kind::file;
    case S_IFDIR:
      return Kind::folder;
    case S_IFLNK:
      return Kind::link;
    case S_IFIFO:
      return Kind::fifo;
    case S_IFSOCK:
      return Kind::socket;
    case S_IFCHR:
      return Kind::char_device;
    case S_IFBLK:
      return Kind::block_device;
    default:
      return std::nullopt;
  }
}

std::int64_t time_ns(std::int64_t seconds, std::int64_t nanoseconds) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (seconds >= Limits::max() / kSecond) return Limits::max();
  if (seconds < Limits::min() / kSecond) return Limits::min();
  return seconds * kSecond + nanoseconds;
}

bool is_same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

Entry entry_of(const struct stat& info) {
  Entry entry{.kind = kind_of(info.st_mode).value_or(Kind::file),
              .mode = info.st_mode & 07777,
              .uid = info.st_uid,
              .gid = info.st_gid,
              .mtime_ns = time_ns(info.st_mtim.tv_sec, info.st_mtim.tv_nsec)};
  if (entry.kind == Kind::file) entry.size = static_cast<std::uint64_t>(info.st_size);
  if (entry.kind == Kind::char_device || entry.kind == Kind::block_device) {
    entry.rdev_major = major(info.st_rdev);
    entry.rdev_minor = minor(info.st_rdev);
  }
  if (entry.kind == Kind::file && info.st_nlink > 1) {
    entry.device = info.st_dev;
    entry.inode = info.st_ino;
  }
  return entry;
}

tl::expected<Entry, int> look_at(int folder, std::string_view name) {
  const CName c_name(name);
  if (!c_name.valid()) return tl::unexpected(EINVAL);
  struct stat info;
  if (retried([&] { return fstatat(folder, c_name.c_str(), &info, AT_SYMLINK_NOFOLLOW); }) != 0)
    return tl::unexpected(errno);
  return entry_of(info);
}

bool still_is(const Entry& now, const Entry& known) {
  if (now.kind != known.kind) return false;
  switch (now.kind) {
    case Kind::file:
      return now.size == known.size && now.mtime_ns == known.mtime_ns;
    case Kind::link:
      return now.mtime_ns == known.mtime_ns;
    case Kind::char_device:
    case Kind::block_device:
      return now.rdev_major == known.rdev_major && now.rdev_minor == known.rdev_minor;
    default:
      return true;
  }
}

}  // namespace sluice::migrate
