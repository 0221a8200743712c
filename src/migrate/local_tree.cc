// SPDX-License-Identifier: MIT
#include "migrate/local_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <optional>
#include <tl/expected.hpp>
#include <utility>

#include "migrate/file_hash.h"
#include "migrate/root_dir.h"
#include "migrate/stat_entry.h"
#include "migrate/system_call.h"
#include "migrate/thread_buffer.h"

namespace sluice::migrate {
namespace {

constexpr std::size_t kDirentBytes = 128 * 1024;
/// Long link targets end a page early, so that it stays small.
constexpr std::size_t kPageBytes = 4 * 1024 * 1024;
constexpr unsigned kEntryMask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID |
                                STATX_MTIME | STATX_CTIME | STATX_SIZE | STATX_INO;

std::uint64_t device_of(const struct statx& info) {
  return ::makedev(info.stx_dev_major, info.stx_dev_minor);
}

/// All but the name and the target.
Entry entry_of(const struct statx& info) {
  const std::optional<Kind> kind = kind_of(info.stx_mode);
  if (!kind) return {.error = EINVAL};
  Entry entry{.kind = *kind,
              .mode = info.stx_mode & 07777u,
              .uid = info.stx_uid,
              .gid = info.stx_gid,
              .mtime_ns = nanoseconds_of(info.stx_mtime)};
  if (*kind == Kind::file) entry.size = info.stx_size;
  if (*kind == Kind::folder) entry.ctime_ns = nanoseconds_of(info.stx_ctime);
  if (*kind == Kind::char_device || *kind == Kind::block_device) {
    entry.rdev_major = info.stx_rdev_major;
    entry.rdev_minor = info.stx_rdev_minor;
  }
  if (*kind != Kind::folder && info.stx_nlink > 1) {
    entry.device = device_of(info);
    entry.inode = info.stx_ino;
  }
  return entry;
}

bool is_self_or_parent(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int read_stamp(int fd, FolderStamp& stamp) {
  struct statx info;
  const unsigned mask = STATX_MTIME | STATX_CTIME;
  if (retried([&] { return ::statx(fd, "", AT_EMPTY_PATH, mask, &info); }) != 0) return errno;
  stamp = {.mtime_ns = nanoseconds_of(info.stx_mtime), .ctime_ns = nanoseconds_of(info.stx_ctime)};
  return 0;
}

struct Rules {
  Filters filters;
  bool one_file_system = false;
  std::uint64_t root_device = 0;
  std::uint64_t root_inode = 0;
};

/// Reads one directory, once.
class Reading {
 public:
  Reading(int fd, const Rules& rules, std::string_view path)
      : fd_(fd), rules_(rules), filter_(rules.filters, path) {}

  Fault run(const FolderStamp& seen, Listing& page, const PageSink& sink);

 private:
  /// How far a reading came.
  enum class End : std::uint8_t {
    whole,
    stopped,  ///< By the sink.
    outdated  ///< The directory is not as it was seen; nothing was delivered.
  };
  tl::expected<End, Fault> read_all(Listing& page, const PageSink& sink);
  /// What is in the page, which is full.
  tl::expected<End, Fault> deliver(Listing& page, const PageSink& sink);
  tl::expected<End, Fault> add_all(const char* names, std::size_t bytes, Listing& page,
                                   const PageSink& sink);
  void add(const char* name, Listing& page);
  void apply_rules(const struct statx& info, Entry& entry) const;
  bool read_target(const char* name, Entry& entry);

  const int fd_;
  const Rules& rules_;
  DirectoryFilter filter_;
  FolderStamp before_;
  bool is_sure_ = true;  // That it was as before_ says when it was opened.
  bool vanished_ = false;
  bool changed_ = false;
  // A byte more than the longest target, to see whether it was cut.
  std::array<char, PATH_MAX + 1> target_;
};

Fault Reading::run(const FolderStamp& seen, Listing& page, const PageSink& sink) {
  before_ = seen;
  is_sure_ = false;
  auto end = seen.known() ? read_all(page, sink) : End::outdated;
  if (end && *end == End::outdated) {
    if (const int error = read_stamp(fd_, before_); error != 0) return {error, "statx"};
    if (::lseek(fd_, 0, SEEK_SET) != 0) return {errno, "lseek"};
    is_sure_ = true;
    vanished_ = false;
    end = read_all(page, sink);
  }
  if (!end) return end.error();
  if (*end == End::stopped) return {};
  if (vanished_) return {.detail = "statx of a name that had vanished", .changed = true};
  if (changed_) return {.detail = "getdents64", .changed = true};
  return {};
}

tl::expected<Reading::End, Fault> Reading::read_all(Listing& page, const PageSink& sink) {
  const ThreadBuffer<kDirentBytes> buffer;
  page.clear();
  while (true) {
    const ssize_t got = retried([&] { return ::getdents64(fd_, buffer.data(), kDirentBytes); });
    if (got < 0) return tl::unexpected(Fault{errno, "getdents64"});
    if (got == 0) break;
    const auto added = add_all(buffer.data(), static_cast<std::size_t>(got), page, sink);
    if (!added || *added != End::whole) return added;
  }
  FolderStamp after;
  if (const int error = read_stamp(fd_, after); error != 0)
    return tl::unexpected(Fault{error, "statx"});
  changed_ = after != before_;
  if (changed_ && !is_sure_) return End::outdated;
  is_sure_ = true;
  return page.empty() ? End::whole : deliver(page, sink);
}

tl::expected<Reading::End, Fault> Reading::deliver(Listing& page, const PageSink& sink) {
  if (!is_sure_) {
    FolderStamp now;
    if (const int error = read_stamp(fd_, now); error != 0)
      return tl::unexpected(Fault{error, "statx"});
    if (now != before_) return End::outdated;
    is_sure_ = true;
  }
  return sink(page) ? End::whole : End::stopped;
}

tl::expected<Reading::End, Fault> Reading::add_all(const char* names, std::size_t bytes,
                                                   Listing& page, const PageSink& sink) {
  for (std::size_t at = 0; at < bytes;) {
    const auto* found = reinterpret_cast<const dirent64*>(names + at);
    at += found->d_reclen;
    if (is_self_or_parent(found->d_name)) continue;
    add(found->d_name, page);
    if (page.size() < kPageEntries && page.bytes() < kPageBytes) continue;
    const auto delivered = deliver(page, sink);
    if (!delivered || *delivered != End::whole) return delivered;
    page.clear();
  }
  return End::whole;
}

void Reading::add(const char* name, Listing& page) {
  struct statx info;
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  const int rc = retried([&] { return ::statx(fd_, name, flags, kEntryMask, &info); });
  if (rc != 0 && errno == ENOENT) {
    vanished_ = true;
    return;
  }
  Entry entry = rc == 0 ? entry_of(info) : Entry{.error = static_cast<std::uint32_t>(errno)};
  entry.name = name;
  if (entry.error == 0) apply_rules(info, entry);
  if (entry.kind == Kind::link && !read_target(name, entry)) return;
  if (filter_.matches(name)) entry.excluded = true;
  page.add(entry);
}

void Reading::apply_rules(const struct statx& info, Entry& entry) const {
  if (entry.kind != Kind::folder) return;
  const std::uint64_t device = device_of(info);
  if (device != rules_.root_device)
    entry.excluded = rules_.one_file_system;
  else if (info.stx_ino == rules_.root_inode)
    entry = {.name = entry.name, .kind = Kind::folder, .error = ELOOP};
}

/// False if the link is no more.
bool Reading::read_target(const char* name, Entry& entry) {
  const ssize_t size =
      retried([&] { return ::readlinkat(fd_, name, target_.data(), target_.size()); });
  if (size >= 0 && static_cast<std::size_t>(size) < target_.size()) {
    entry.target = std::string_view(target_.data(), static_cast<std::size_t>(size));
    return true;
  }
  // EINVAL: it is something else by now.
  if (size < 0 && (errno == ENOENT || errno == EINVAL)) {
    vanished_ = true;
    return false;
  }
  const int error = size < 0 ? errno : ENAMETOOLONG;
  entry = {.name = entry.name, .error = static_cast<std::uint32_t>(error)};
  return true;
}

class LocalTree final : public Tree {
 public:
  LocalTree(RootDir root, Rules rules) : root_(std::move(root)), rules_(std::move(rules)) {}

  Fault list(std::string_view path, const FolderStamp& seen, Listing& scratch,
             const PageSink& sink) override;
  Fault stat_root(Listing& one) override;
  Fault hash(std::string_view path, const Entry& entry, Hash& hash) override;
  std::string name() const override { return root_.path(); }

 private:
  const RootDir root_;
  const Rules rules_;
};

Fault LocalTree::list(std::string_view path, const FolderStamp& seen, Listing& scratch,
                      const PageSink& sink) {
  const auto opened = root_.open(path, O_RDONLY | O_DIRECTORY);
  if (!opened) return {opened.error(), "open"};
  return Reading(opened->get(), rules_, path).run(seen, scratch, sink);
}

Fault LocalTree::stat_root(Listing& one) {
  struct statx info;
  const int rc = retried([&] { return ::statx(root_.fd(), "", AT_EMPTY_PATH, kEntryMask, &info); });
  if (rc != 0) return {errno, "statx"};
  one.clear();
  one.add(entry_of(info));
  return {};
}

Fault LocalTree::hash(std::string_view path, const Entry& entry, Hash& hash) {
  std::string whole(path);
  if (!whole.empty()) whole += '/';
  whole += entry.name;
  // Whatever took the file's place: opening it must not wait for the other end of a pipe.
  const auto opened = root_.open(whole, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  // A symbolic link or a socket took its place.
  if (!opened) return {opened.error(), "open", opened.error() == ELOOP || opened.error() == ENXIO};
  return hash_file(opened->get(), entry, hash);
}

}  // namespace

Result<std::unique_ptr<Tree>> open_local_tree(const LocalTreeOptions& options) {
  SLUICE_LET(filters, Filters::make(options.filters));
  SLUICE_LET(root, RootDir::open(options.root));
  struct statx info;
  if (::statx(root.fd(), "", AT_EMPTY_PATH, STATX_INO, &info) != 0)
    return error(Code::io_error, options.root + ": statx failed; find the cause in the system log");
  return std::make_unique<LocalTree>(std::move(root),
                                     Rules{.filters = std::move(filters),
                                           .one_file_system = options.one_file_system,
                                           .root_device = device_of(info),
                                           .root_inode = info.stx_ino});
}

}  // namespace sluice::migrate
