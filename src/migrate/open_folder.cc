// SPDX-License-Identifier: MIT
#include "migrate/open_folder.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "migrate/system_call.h"

namespace sluice::migrate {
namespace {

using Opened = tl::expected<Descriptor, int>;

constexpr int kOnTheWay = O_PATH | O_DIRECTORY;

// Whether the kernel (5.6) and the sandbox around us let openat2 through. Both stay as they are.
std::atomic<bool> has_openat2 = true;

bool is_plain(std::string_view path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name.empty() || name == "." || name == ".." || name.find('\0') != name.npos) return false;
    at = end + 1;
  }
  return true;
}

/// The longest run of whole names that one call takes; the whole first name if even that is long,
/// for the kernel to refuse.
std::string_view first_piece(std::string_view path) {
  if (path.size() < PATH_MAX) return path;
  const std::size_t end = path.rfind('/', PATH_MAX - 1);
  return path.substr(0, end == path.npos ? PATH_MAX - 1 : end);
}

Opened opened(long fd) {
  if (fd < 0) return tl::unexpected(errno);
  return Descriptor(static_cast<int>(fd));
}

/// A run of names shorter than PATH_MAX, at once.
Opened open_piece(int at, std::string_view piece, int flags) {
  std::array<char, PATH_MAX> path;
  std::memcpy(path.data(), piece.data(), piece.size());
  path[piece.size()] = '\0';
  // A plain path without links only leads down: RESOLVE_BENEATH would cost more and add nothing.
  open_how how{.flags = static_cast<unsigned>(flags | O_NOFOLLOW | O_CLOEXEC),
               .mode = 0,
               .resolve = RESOLVE_NO_SYMLINKS};
  return opened(retried([&] { return syscall(SYS_openat2, at, path.data(), &how, sizeof how); }));
}

/// The same, name by name.
Opened open_names(int at, std::string_view piece, int flags) {
  Descriptor last;
  while (true) {
    const std::size_t end = std::min(piece.find('/'), piece.size());
    const bool is_last = end == piece.size();
    const CName name(piece.substr(0, end));
    if (!name.valid()) return tl::unexpected(ENAMETOOLONG);
    const int how = (is_last ? flags : kOnTheWay) | O_NOFOLLOW | O_CLOEXEC;
    Opened next = opened(retried([&] { return openat(at, name.c_str(), how); }));
    if (!next || is_last) return next;
    last = std::move(*next);
    at = last.get();
    piece.remove_prefix(end + 1);
  }
}

Opened open_either(int at, std::string_view piece, int flags) {
  if (has_openat2.load(std::memory_order_relaxed)) {
    Opened folder = open_piece(at, piece, flags);
    // EPERM: of a sandbox that does not know the call, or of O_NOATIME, which fails again.
    if (folder || (folder.error() != ENOSYS && folder.error() != EPERM)) return folder;
    if (folder.error() == ENOSYS) has_openat2 = false;
  }
  return open_names(at, piece, flags);
}

}  // namespace

Opened open_below(int root, std::string_view path, int flags) {
  if (path.empty()) return opened(retried([&] { return openat(root, ".", flags | O_CLOEXEC); }));
  if (!is_plain(path)) return tl::unexpected(EINVAL);
  Descriptor last;
  while (true) {
    const std::string_view piece = first_piece(path);
    const bool is_last = piece.size() == path.size();
    Opened next = open_either(last.valid() ? last.get() : root, piece, is_last ? flags : kOnTheWay);
    if (!next || is_last) return next;
    last = std::move(*next);
    path.remove_prefix(piece.size() + 1);
  }
}

}  // namespace sluice::migrate
