// SPDX-License-Identifier: MIT
#include "exec/errno_status.h"

#include <cerrno>
#include <system_error>

namespace sluice::exec {
namespace {

struct Verdict {
  Code code;
  const char* next;
};

Verdict verdict_on(int error) {
  switch (error) {
    case ENOENT:
      return {Code::not_found, "make the directory first, or correct the name"};
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return {Code::invalid_argument, "correct the name"};
    case EACCES:
    case EPERM:
    case EROFS:
      return {Code::permission_denied, "grant this account access, or use another place"};
    case E2BIG:
      return {Code::invalid_argument, "shorten the arguments and the environment, or use a file"};
    case ENOSPC:
    case EDQUOT:
      return {Code::storage_full, "free disk space, then try again"};
    case EMFILE:
    case ENFILE:
      return {Code::unavailable, "close files, or raise the limit (ulimit -n), then try again"};
    case EAGAIN:
    case ENOMEM:
    case ENOLCK:
    case ETXTBSY:
      return {Code::unavailable, "try again in a moment; if it stays, look at the system's limits"};
    default:
      return {Code::io_error, "find the cause in the system log, then restart the program"};
  }
}

}  // namespace

Failure system_failure(int error, const std::string& doing) {
  const Verdict verdict = verdict_on(error);
  return sluice::error(verdict.code,
                       doing + ": " + std::generic_category().message(error) + "; " + verdict.next);
}

}  // namespace sluice::exec
