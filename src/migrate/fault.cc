// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>

#include "migrate/tree.h"

namespace sluice::migrate {

FaultClass fault_class(const Fault& fault) {
  if (fault.ok()) return FaultClass::none;
  // Whatever went wrong besides: what was read mixes two states, and the next reading need not.
  if (fault.changed) return FaultClass::transient;
  switch (fault.error) {
    // The disk, the server behind it, or the way there.
    case EIO:
    case EREMOTEIO:
    case ETIMEDOUT:
    case ETIME:
    case ESTALE:
    case ENOLINK:
    case ECOMM:
    case EPIPE:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case ENETRESET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ECONNABORTED:
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
    case ESHUTDOWN:
    // This machine has too much to do.
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ETXTBSY:
    case EDEADLK:
    case ENOMEM:
    case ENOBUFS:
    case ENFILE:
    case EMFILE:
    case ENOLCK:
      return FaultClass::transient;
    default:
      // What is not known to pass is not tried again: the same answer would only come later.
      return FaultClass::permanent;
  }
}

std::string errno_name(int error) {
  const char* name = error > 0 ? strerrorname_np(error) : nullptr;
  return name != nullptr ? name : "errno " + std::to_string(error);
}

}  // namespace sluice::migrate
