// SPDX-License-Identifier: MIT
#include "migrate/copy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "migrate/copy_attributes.h"
#include "migrate/copy_data.h"
#include "migrate/inode.h"
#include "migrate/placing.h"
#include "migrate/stat_entry.h"
#include "migrate/system_call.h"

namespace sluice::migrate {
namespace {

using Why = CopyFault::Why;

// From here on, a copy that cannot be put in place is worth a look at the destination before.
constexpr std::uint64_t kLookFirstBytes = 64 * 1024;

// Whether files can be made without a name. One destination is written to per process.
std::atomic<bool> has_tmpfile = true;

uid_t own_uid() {
  static const uid_t uid = geteuid();
  return uid;
}

gid_t own_gid() {
  static const gid_t gid = getegid();
  return gid;
}

/// The open source and what was known of it then.
struct SourceFile {
  Descriptor fd;
  struct stat info;
  std::string xattrs;

  Inode inode() const { return Inode(fd.get(), Inode::Opened::for_data); }
};

/// What was listed may be a fifo by now, on which open would wait for ever: O_NONBLOCK.
int open_for_reading(int folder, const char* name, bool is_ours) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  if (is_ours || own_uid() == 0) {
    const int fd = retried([&] { return openat(folder, name, kFlags | O_NOATIME); });
    if (fd >= 0 || errno != EPERM) return fd;
  }
  return retried([&] { return openat(folder, name, kFlags); });
}

CopyResult<SourceFile> open_source(const CopyOrder& order, const OrderNames& names) {
  const bool is_ours = order.wanted.uid == own_uid();
  SourceFile source{Descriptor(open_for_reading(order.src, names.name.c_str(), is_ours)), {}, {}};
  if (!source.fd.valid()) {
    CopyFault fault = io_fault("open the source");
    // Gone; a link (ELOOP) or a socket (ENXIO) instead.
    if (errno == ENOENT || errno == ELOOP || errno == ENXIO) fault.why = Why::drift_src;
    return tl::unexpected(std::move(fault));
  }
  if (fstat(source.fd.get(), &source.info) != 0)
    return tl::unexpected(io_fault("fstat the source"));
  if (!S_ISREG(source.info.st_mode) || !still_is(entry_of(source.info), order.wanted))
    return tl::unexpected(drift(Why::drift_src, "the source changed since it was listed"));
  auto xattrs = known_xattrs(source.inode());
  if (!xattrs) return tl::unexpected(CopyFault{Why::io, xattrs.error(), "flistxattr the source"});
  source.xattrs = std::move(*xattrs);
  return source;
}

/// Whether nobody wrote to the source, or changed what else was copied, since it was opened.
std::optional<CopyFault> check_source(const SourceFile& source) {
  struct stat now;
  if (fstat(source.fd.get(), &now) != 0) return io_fault("fstat the source");
  if (now.st_size == source.info.st_size && is_same(now.st_mtim, source.info.st_mtim) &&
      is_same(now.st_ctim, source.info.st_ctim))
    return {};
  return drift(Why::drift_src, "the source changed while it was copied");
}

/// The mode to create a file with. Its own if it is complete with that; otherwise nobody else may
/// look inside before owner and ACL are set.
mode_t first_mode(const SourceFile& source, const CopyOrder& order, const CopyRules& rules) {
  const struct stat& info = source.info;
  const mode_t mode = info.st_mode & 0777;
  if (!rules.modes) return order.replaced != nullptr ? 0600 : mode;
  const bool is_ours = info.st_uid == own_uid() && info.st_gid == own_gid();
  return (is_ours || !rules.owners) && !has_acl(source.xattrs) ? mode : 0600;
}

/// What a content is put into.
struct TempFile {
  Descriptor fd;
  mode_t mode = 0;
  bool has_name = false;
};

CopyResult<TempFile> create_temp(const CopyOrder& order, const OrderNames& names,
                                 const CopyRules& rules, mode_t mode) {
  const int access = (rules.verify ? O_RDWR : O_WRONLY) | O_CLOEXEC;
  TempFile temp{.fd = {}, .mode = mode};
  if (order.replaced == nullptr && rules.unnamed && has_tmpfile.load(std::memory_order_relaxed)) {
    temp.fd.reset(retried([&] { return openat(order.dst, ".", access | O_TMPFILE, mode); }));
    if (temp.fd.valid()) return temp;
    if (errno == EOPNOTSUPP || errno == EISDIR) has_tmpfile = false;
  }
  const int flags = access | O_CREAT | O_EXCL | O_NOFOLLOW;
  auto fault = make_temp(order, names, [&] {
    temp.fd.reset(retried([&] { return openat(order.dst, names.temp.c_str(), flags, mode); }));
    return temp.fd.valid() ? 0 : -1;
  });
  if (fault) return tl::unexpected(std::move(*fault));
  temp.has_name = true;
  return temp;
}

/// What the system makes of a new file, as a rule: another group, a umask or an ACL may be there.
struct stat assume_new(mode_t mode) {
  struct stat info{};
  info.st_mode = S_IFREG | mode;
  info.st_uid = own_uid();
  info.st_gid = own_gid();
  return info;
}

/// Content and attributes. Nothing has its name yet.
CopyResult<Copied> fill(const SourceFile& source, const TempFile& temp, const CopyOrder& order,
                        const CopyRules& rules) {
  auto data = copy_data({source.fd.get(), temp.fd.get(), source.info}, rules);
  if (!data) return tl::unexpected(std::move(data).error());
  const struct stat assumed = assume_new(temp.mode);
  auto copied = copy_attributes({source.inode(), source.info, source.xattrs},
                                {.inode = Inode(temp.fd.get(), Inode::Opened::for_data),
                                 .replaced = order.replaced,
                                 .assumed = &assumed},
                                rules);
  if (!copied) return copied;
  if (auto fault = check_source(source)) return tl::unexpected(std::move(*fault));
  if (copied->entry.size != order.wanted.size)
    return tl::unexpected(drift(Why::drift_src, "the source changed while it was copied"));
  copied->hash = data->hash;
  copied->bytes = data->bytes;
  return copied;
}

}  // namespace

CopyResult<Copied> copy_file(const CopyOrder& order, const CopyRules& rules) {
  const OrderNames names(order);
  if (!names.valid()) return tl::unexpected(bad_name());
  const auto source = open_source(order, names);
  if (!source) return tl::unexpected(source.error());
  const bool is_large = order.wanted.size >= kLookFirstBytes;
  if (auto fault = check_destination(order, names, is_large))
    return tl::unexpected(std::move(*fault));

  const auto temp = create_temp(order, names, rules, first_mode(*source, order, rules));
  if (!temp) return tl::unexpected(temp.error());
  std::optional<TempGuard> guard;
  if (temp->has_name) guard.emplace(order, names);
  auto copied = fill(*source, *temp, order, rules);
  if (!copied) return copied;
  auto fault =
      temp->has_name ? put_in_place(order, names) : name_in_place(temp->fd.get(), order, names);
  if (fault) return tl::unexpected(std::move(*fault));
  if (guard) guard->release();
  return copied;
}

}  // namespace sluice::migrate
