// SPDX-License-Identifier: MIT
#include "migrate/root_dir.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "migrate/system_call.h"

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

}  // namespace

Result<RootDir> RootDir::open(const std::string& path) {
  std::error_code error;
  std::string whole = std::filesystem::canonical(path, error).string();
  if (error) return root_failure(error.value(), path);
  Descriptor fd(retried(
      [&] { return ::open(whole.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (!fd.valid()) return root_failure(errno, path);
  return RootDir(std::move(fd), std::move(whole));
}

}  // namespace sluice::migrate
