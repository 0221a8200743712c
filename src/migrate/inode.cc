// SPDX-License-Identifier: MIT
#include "migrate/inode.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "migrate/system_call.h"

namespace sluice::migrate {
namespace {

constexpr std::size_t kNamesBytesMax = 64 * 1024;  // XATTR_LIST_MAX.

template <class Call>
int error_of(const Call& call) {
  return retried(call) < 0 ? errno : 0;
}

}  // namespace

int Inode::stat(struct stat& info) const {
  return error_of([&] { return fstat(fd_, &info); });
}

int Inode::set_owner(uid_t uid, gid_t gid) const {
  return error_of([&] { return fchownat(fd_, "", uid, gid, AT_EMPTY_PATH); });
}

int Inode::set_mode(mode_t mode) const {
  if (!as_path_) return error_of([&] { return fchmod(fd_, mode); });
  return error_of([&] { return chmod(MagicLink(fd_).c_str(), mode); });
}

int Inode::set_times(const timespec (&times)[2]) const {
  if (!as_path_) return error_of([&] { return futimens(fd_, times); });
  return error_of([&] { return utimensat(fd_, "", times, AT_EMPTY_PATH); });
}

tl::expected<std::string, int> Inode::xattr_names() const {
  const auto list = [&](char* names, std::size_t bytes) {
    if (!as_path_) return flistxattr(fd_, names, bytes);
    return listxattr(MagicLink(fd_).c_str(), names, bytes);
  };
  std::array<char, 512> some;
  ssize_t got = list(some.data(), some.size());
  if (got >= 0) return std::string(some.data(), static_cast<std::size_t>(got));
  if (errno != ERANGE) return tl::unexpected(errno);
  std::string names(kNamesBytesMax, '\0');
  got = list(names.data(), names.size());
  if (got < 0) return tl::unexpected(errno);
  names.resize(static_cast<std::size_t>(got));
  return names;
}

tl::expected<std::size_t, int> Inode::xattr(const char* name, void* value,
                                            std::size_t bytes) const {
  const ssize_t got = as_path_ ? getxattr(MagicLink(fd_).c_str(), name, value, bytes)
                               : fgetxattr(fd_, name, value, bytes);
  if (got < 0) return tl::unexpected(errno);
  return static_cast<std::size_t>(got);
}

int Inode::set_xattr(const char* name, const void* value, std::size_t bytes) const {
  if (!as_path_) return error_of([&] { return fsetxattr(fd_, name, value, bytes, 0); });
  return error_of([&] { return setxattr(MagicLink(fd_).c_str(), name, value, bytes, 0); });
}

int Inode::remove_xattr(const char* name) const {
  if (!as_path_) return error_of([&] { return fremovexattr(fd_, name); });
  return error_of([&] { return removexattr(MagicLink(fd_).c_str(), name); });
}

}  // namespace sluice::migrate
