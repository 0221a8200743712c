// SPDX-License-Identifier: MIT
#include "migrate/root_dir.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace sluice::migrate {
namespace {

Failure root_failure(int error, const std::string& path) {
  const std::string message = path + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOENT:
      return sluice::error(Code::not_found, message + "; correct the path, or make the directory");
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
      return sluice::error(Code::invalid_argument, message + "; give the path of a directory");
    case EACCES:
    case EPERM:
      return sluice::error(Code::permission_denied, message + "; grant this account access");
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return sluice::error(Code::unavailable, message + "; try again when files are closed");
    default:
      return sluice::error(Code::io_error, message + "; find the cause in the system log");
  }
}

/// Whether every name of it is one that a directory can hold.
bool plain(std::string_view path) {
  if (path.find('\0') != path.npos) return false;
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end <= 2 && path.substr(0, end) == std::string_view("..").substr(0, end)) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

long open_beneath(int at, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return ::syscall(SYS_openat2, at, path, &how, sizeof how);
}

}  // namespace

Result<RootDir> RootDir::open(const std::string& path, Options options) {
  std::error_code error;
  std::string whole = std::filesystem::canonical(path, error).string();
  if (error) return root_failure(error.value(), path);
  Descriptor fd(uninterrupted(
      [&] { return ::open(whole.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (!fd.valid()) return root_failure(errno, path);
  RootDir root(std::move(fd), std::move(whole));
  // Some containers answer EPERM to calls that they do not know.
  const Descriptor probe(
      static_cast<int>(open_beneath(root.fd(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC)));
  const bool unknown = !probe.valid() && (errno == ENOSYS || errno == EPERM);
  root.by_name_ = options.by_name || unknown;
  return root;
}

RootDir::Opened RootDir::open(std::string_view path, int flags) const {
  if (path.empty())
    path = ".";
  else if (!plain(path))
    return {.error = EINVAL};
  Opened opened;
  while (true) {
    std::size_t end = path.size();
    if (by_name_)
      end = std::min(path.find('/'), end);
    else if (end >= PATH_MAX)
      end = path.rfind('/', PATH_MAX - 1);
    if (end == path.npos || end >= PATH_MAX) return {.error = ENAMETOOLONG};
    const bool last = end == path.size();
    const int at = opened.fd.valid() ? opened.fd.get() : fd_.get();
    const int fd = open_piece(at, path.substr(0, end), last ? flags : O_PATH | O_DIRECTORY);
    if (fd < 0) return {.error = errno};
    opened.fd.reset(fd);
    if (last) return opened;
    path.remove_prefix(end + 1);
  }
}

int RootDir::open_piece(int at, std::string_view piece, int flags) const {
  std::array<char, PATH_MAX> name;
  std::memcpy(name.data(), piece.data(), piece.size());
  name[piece.size()] = '\0';
  flags |= O_NOFOLLOW | O_CLOEXEC;
  return static_cast<int>(uninterrupted([&]() -> long {
    return by_name_ ? ::openat(at, name.data(), flags) : open_beneath(at, name.data(), flags);
  }));
}

}  // namespace sluice::migrate
