// SPDX-License-Identifier: MIT
#include "migrate/placing.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "migrate/stat_entry.h"

namespace sluice::migrate {
namespace {

using Why = CopyFault::Why;

CopyFault appeared() {
  return {
      .why = Why::drift_dst, .error = EEXIST, .detail = "something appeared on the destination"};
}

/// For file systems without RENAME_NOREPLACE (NFS): a hard link does not replace anything either.
std::optional<CopyFault> link_in_place(const CopyOrder& order, const OrderNames& names) {
  const char* temp = names.temp.c_str();
  const char* name = names.name.c_str();
  if (retried([&] { return linkat(order.dst, temp, order.dst, name, 0); }) == 0) {
    // Both names are whole. If this fails, the next clean_temps() finds it.
    unlinkat(order.dst, temp, 0);
    return {};
  }
  if (errno == EEXIST) return appeared();
  // Neither: what is left is to look first.
  struct stat info;
  if (retried([&] { return fstatat(order.dst, name, &info, AT_SYMLINK_NOFOLLOW); }) == 0)
    return appeared();
  if (errno != ENOENT) return io_fault("fstatat");
  if (retried([&] { return renameat(order.dst, temp, order.dst, name); }) != 0)
    return io_fault("renameat");
  return {};
}

}  // namespace

CopyFault io_fault(std::string doing) {
  return {.error = errno, .detail = std::move(doing)};
}

CopyFault drift(Why why, std::string what) {
  return {.why = why, .detail = std::move(what)};
}

CopyFault bad_name() {
  return {.error = EINVAL, .detail = "not a name"};
}

CopyResult<Descriptor> open_handle(int folder, const char* name, Why missing) {
  Descriptor fd(retried([&] { return openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC); }));
  if (fd.valid()) return fd;
  if (errno == ENOENT) return tl::unexpected(CopyFault{missing, ENOENT, "it is gone"});
  return tl::unexpected(io_fault("open"));
}

std::optional<CopyFault> check_destination(const CopyOrder& order, const OrderNames& names,
                                           bool look_anyway) {
  if (order.replaced == nullptr && !look_anyway) return {};
  if (order.replaced != nullptr && order.replaced->kind == Kind::folder)
    return CopyFault{Why::in_the_way, EISDIR, "a folder stands on the destination"};
  struct stat info;
  const int found =
      retried([&] { return fstatat(order.dst, names.name.c_str(), &info, AT_SYMLINK_NOFOLLOW); });
  if (found != 0 && errno != ENOENT) return io_fault("fstatat");
  if (order.replaced == nullptr) return found == 0 ? std::optional(appeared()) : std::nullopt;
  if (found != 0) return CopyFault{Why::drift_dst, ENOENT, "it is gone from the destination"};
  if (!still_is(entry_of(info), *order.replaced))
    return drift(Why::drift_dst, "the destination changed");
  return {};
}

std::optional<CopyFault> put_in_place(const CopyOrder& order, const OrderNames& names) {
  const char* temp = names.temp.c_str();
  const char* name = names.name.c_str();
  if (order.replaced == nullptr) {
    if (retried([&] { return renameat2(order.dst, temp, order.dst, name, RENAME_NOREPLACE); }) == 0)
      return {};
    if (errno == EEXIST) return appeared();
    if (errno == EINVAL || errno == ENOSYS) return link_in_place(order, names);
    return io_fault("renameat2");
  }
  if (auto fault = check_destination(order, names, true)) return fault;
  if (retried([&] { return renameat(order.dst, temp, order.dst, name); }) == 0) return {};
  if (errno == EISDIR) return CopyFault{Why::in_the_way, EISDIR, "a folder stands there"};
  return io_fault("renameat");
}

std::optional<CopyFault> name_in_place(int fd, const CopyOrder& order, const OrderNames& names) {
  const char* name = names.name.c_str();
  int linked = retried([&] { return linkat(fd, "", order.dst, name, AT_EMPTY_PATH); });
  // Before Linux 6.10 that needs a capability, and says that there is no such file. The way through
  // /proc is slower, and open to everybody.
  if (linked != 0 && errno == ENOENT) {
    const MagicLink link(fd);
    linked =
        retried([&] { return linkat(AT_FDCWD, link.c_str(), order.dst, name, AT_SYMLINK_FOLLOW); });
  }
  if (linked == 0) return {};
  if (errno == EEXIST) return appeared();
  return io_fault("linkat");
}

}  // namespace sluice::migrate
