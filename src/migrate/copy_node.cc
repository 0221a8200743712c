// SPDX-License-Identifier: MIT
// Everything that has a name but no content of its own.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "migrate/copy_attributes.h"
#include "migrate/copy_file.h"
#include "migrate/inode.h"
#include "migrate/placing.h"
#include "migrate/stat_entry.h"
#include "migrate/system_call.h"

namespace sluice::migrate {
namespace {

using Why = CopyFault::Why;

/// What stands on one side now.
struct Handle {
  Descriptor fd;
  struct stat info;

  Inode inode() const { return Inode(fd.get(), Inode::Opened::as_path); }
};

CopyResult<Handle> hold(int folder, const char* name, Why missing) {
  auto fd = open_handle(folder, name, missing);
  if (!fd) return tl::unexpected(std::move(fd).error());
  Handle handle{std::move(*fd), {}};
  if (fstat(handle.fd.get(), &handle.info) != 0) return tl::unexpected(io_fault("fstat"));
  return handle;
}

/// The source, if it is what the ledger says.
CopyResult<Handle> hold_source(const CopyOrder& order, const char* name) {
  auto source = hold(order.src, name, Why::drift_src);
  if (source && !still_is(entry_of(source->info), order.wanted))
    return tl::unexpected(drift(Why::drift_src, "the source changed since it was listed"));
  return source;
}

/// Carries over what `from` has, by the rules, to something that is there already.
CopyResult<Copied> dress(const Handle& from, const AttributeTarget& to, const CopyRules& rules) {
  auto xattrs = known_xattrs(from.inode());
  if (!xattrs) return tl::unexpected(CopyFault{Why::io, xattrs.error(), "listxattr the source"});
  return copy_attributes({from.inode(), from.info, std::move(*xattrs)}, to, rules);
}

/// Makes the node with `make`, under the temporary name, and all the rest of it.
template <class Make>
CopyResult<Copied> make_like(const Handle& source, const CopyOrder& order, const CopyRules& rules,
                             const Make& make) {
  const OrderNames names(order);
  if (auto fault = make_temp(order, names, [&] { return make(names.temp.c_str()); }))
    return tl::unexpected(std::move(*fault));
  TempGuard guard(order, names);
  const auto temp = open_handle(order.dst, names.temp.c_str(), Why::drift_dst);
  if (!temp) return tl::unexpected(temp.error());
  auto copied = dress(source, {Inode(temp->get(), Inode::Opened::as_path), order.replaced}, rules);
  if (!copied) return copied;
  if (auto fault = put_in_place(order, names)) return tl::unexpected(std::move(*fault));
  guard.release();
  return copied;
}

bool target_is(const Handle& link, std::string_view target) {
  std::string found(target.size() + 1, '\0');  // One more, to notice a longer one.
  const ssize_t got =
      retried([&] { return readlinkat(link.fd.get(), "", found.data(), found.size()); });
  return got >= 0 && std::string_view(found.data(), static_cast<std::size_t>(got)) == target;
}

/// One more name, `name`, for the file `first`.
bool link_as(const CopyOrder& order, const LinkTarget& first, const CName& from,
             const CName& name) {
  return retried([&] { return linkat(first.folder, from.c_str(), order.dst, name.c_str(), 0); }) ==
         0;
}

std::optional<CopyFault> link_over(const CopyOrder& order, const OrderNames& names,
                                   const LinkTarget& first, const CName& from) {
  if (auto fault =
          make_temp(order, names, [&] { return link_as(order, first, from, names.temp) ? 0 : -1; }))
    return fault;
  // Not released: a rename onto another name of the same file does nothing, and leaves this one.
  const TempGuard guard(order, names);
  return put_in_place(order, names);
}

}  // namespace

std::string_view why_name(Why why) {
  switch (why) {
    case Why::io:
      return "io";
    case Why::drift_src:
      return "drift_src";
    case Why::drift_dst:
      return "drift_dst";
    case Why::in_the_way:
      return "in_the_way";
    case Why::verify_failed:
      return "verify_failed";
  }
  return "?";
}

CopyResult<Copied> copy_link(const CopyOrder& order, const CopyRules& rules) {
  const OrderNames names(order);
  if (!names.valid()) return tl::unexpected(bad_name());
  const auto source = hold_source(order, names.name.c_str());
  if (!source) return tl::unexpected(source.error());
  if (order.wanted.kind != Kind::link || !target_is(*source, order.wanted.target))
    return tl::unexpected(drift(Why::drift_src, "the source changed since it was listed"));
  if (auto fault = check_destination(order, names, false)) return tl::unexpected(std::move(*fault));
  const std::string target(order.wanted.target);
  return make_like(*source, order, rules, [&](const char* temp) {
    return retried([&] { return symlinkat(target.c_str(), order.dst, temp); });
  });
}

CopyResult<Copied> copy_special(const CopyOrder& order, const CopyRules& rules) {
  const OrderNames names(order);
  if (!names.valid()) return tl::unexpected(bad_name());
  const auto source = hold_source(order, names.name.c_str());
  if (!source) return tl::unexpected(source.error());
  const mode_t type = source->info.st_mode & S_IFMT;
  if (type == S_IFREG || type == S_IFDIR || type == S_IFLNK)
    return tl::unexpected(CopyFault{Why::io, EINVAL, "not a special file"});
  if (auto fault = check_destination(order, names, false)) return tl::unexpected(std::move(*fault));
  const bool keeps_default = !rules.modes && order.replaced == nullptr;
  const mode_t mode = type | (keeps_default ? source->info.st_mode & 0777 : 0600);
  return make_like(*source, order, rules, [&](const char* temp) {
    return retried([&] { return mknodat(order.dst, temp, mode, source->info.st_rdev); });
  });
}

CopyResult<Copied> link_to(const CopyOrder& order, const LinkTarget& first) {
  const OrderNames names(order);
  const CName from(first.known.name);
  if (!names.valid() || !from.valid()) return tl::unexpected(bad_name());
  const auto file = hold(first.folder, from.c_str(), Why::drift_dst);
  if (!file) return tl::unexpected(file.error());
  if (!still_is(entry_of(file->info), first.known))
    return tl::unexpected(drift(Why::drift_dst, "the other name changed"));

  struct stat info;
  const auto look = [&] {
    return fstatat(order.dst, names.name.c_str(), &info, AT_SYMLINK_NOFOLLOW);
  };
  const auto is_there = [&] {
    return retried(look) == 0 && info.st_ino == file->info.st_ino &&
           info.st_dev == file->info.st_dev;
  };
  if (is_there()) return Copied{.entry = entry_of(info)};
  if (order.replaced != nullptr) {
    if (auto fault = check_destination(order, names, true))
      return tl::unexpected(std::move(*fault));
    if (auto fault = link_over(order, names, first, from)) return tl::unexpected(std::move(*fault));
  } else if (!link_as(order, first, from, names.name)) {
    CopyFault fault = io_fault("linkat");
    if (errno == EEXIST) fault.why = Why::drift_dst;
    return tl::unexpected(std::move(fault));
  }
  if (!is_there()) return tl::unexpected(drift(Why::drift_dst, "the destination changed"));
  return Copied{.entry = entry_of(info)};
}

CopyResult<bool> make_folder(int folder, std::string_view name) {
  const CName c_name(name);
  if (!c_name.valid()) return tl::unexpected(bad_name());
  if (retried([&] { return mkdirat(folder, c_name.c_str(), 0700); }) == 0) return true;
  if (errno != EEXIST) return tl::unexpected(io_fault("mkdir"));
  const auto found = look_at(folder, name);
  if (!found) return tl::unexpected(CopyFault{Why::io, found.error(), "fstatat"});
  if (found->kind == Kind::folder) return false;
  return tl::unexpected(CopyFault{Why::in_the_way, EEXIST, "something else than a folder"});
}

CopyResult<Copied> set_attributes(const CopyOrder& order, const CopyRules& rules) {
  const CName c_name(order.wanted.name);
  if (!c_name.valid() && !order.wanted.name.empty()) return tl::unexpected(bad_name());
  const char* name = order.wanted.name.empty() ? "." : c_name.c_str();
  const auto source = hold_source(order, name);
  if (!source) return tl::unexpected(source.error());
  const auto target = hold(order.dst, name, Why::drift_dst);
  if (!target) return tl::unexpected(target.error());
  const Entry now = entry_of(target->info);
  if (now.kind != order.wanted.kind)
    return tl::unexpected(CopyFault{Why::in_the_way, 0, "it is of another kind"});
  if (order.replaced != nullptr && !still_is(now, *order.replaced))
    return tl::unexpected(drift(Why::drift_dst, "the destination changed"));
  return dress(*source, {target->inode(), &now}, rules);
}

}  // namespace sluice::migrate
