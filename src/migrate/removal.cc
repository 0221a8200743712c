// SPDX-License-Identifier: MIT
#include "migrate/removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "migrate/folder_page.h"
#include "migrate/open_folder.h"
#include "migrate/placing.h"
#include "migrate/stat_entry.h"
#include "migrate/system_call.h"

namespace sluice::migrate {
namespace {

using Why = CopyFault::Why;

constexpr std::size_t kOpenMax = 32;

/// Removes depth first, without recursion. A page of names is read; what is no folder goes at once,
/// the folders are gone into one after the other; then the next page. Only the deepest levels stay
/// open. One that has to be opened again is read from its beginning: what was removed is not there
/// any more, and what stays is remembered.
class TreeRemoval {
 public:
  TreeRemoval(int base, const RemoveRules& rules) : base_(base), rules_(rules) {}

  Removed run(std::string_view name) {
    enter(std::string(name));
    while (!levels_.empty() && removed_.done()) step();
    return std::move(removed_);
  }

 private:
  struct Level {
    std::string name;
    Descriptor fd;
    dev_t device = 0;
    ino_t inode = 0;
    std::size_t path_bytes = 0;             // Of the path, before this name was put to it.
    std::vector<std::string> folders = {};  // Of the last page, still to be gone into.
    std::vector<std::string> holding = {};  // Folders that stay because of what is in them.
    std::uint64_t kept = 0;
    bool removed_any = false;  // Since it is read from its beginning.
  };

  void fail(CopyFault fault) { removed_.fault = std::move(fault); }

  bool may_remove() {
    removed_.reached_max = removed_.entries >= rules_.max;
    return !removed_.reached_max;
  }

  void step() {
    Level& level = levels_.back();
    if (!level.folders.empty()) {
      std::string name = std::move(level.folders.back());
      level.folders.pop_back();
      return enter(std::move(name));
    }
    if (!open_again(levels_.size() - 1)) return;
    if (const int error = page_.read(level.fd.get()); error != 0)
      return fail({Why::io, error, "read a folder"});
    if (page_.empty()) return leave();
    page_.each([&](const dirent64& entry) {
      if (removed_.done()) visit(level, entry);
    });
  }

  void visit(Level& level, const dirent64& entry) {
    if (std::ranges::find(level.holding, entry.d_name) != level.holding.end()) return;
    if (rules_.keep && rules_.keep(path_ + entry.d_name)) {
      ++level.kept;
    } else if (entry.d_type == DT_DIR) {
      level.folders.emplace_back(entry.d_name);
    } else if (may_remove()) {
      remove_file(level, entry.d_name);
    }
  }

  /// Also finds out what file systems that do not tell kinds (DT_UNKNOWN) have there.
  void remove_file(Level& level, const char* name) {
    if (retried([&] { return unlinkat(level.fd.get(), name, 0); }) == 0) {
      ++removed_.entries;
      level.removed_any = true;
    } else if (errno == EISDIR) {
      level.folders.emplace_back(name);
    } else if (errno != ENOENT) {
      fail(io_fault("unlink"));
    }
  }

  int parent_fd() const { return levels_.empty() ? base_ : levels_.back().fd.get(); }

  void enter(std::string name) {
    if (!levels_.empty() && !open_again(levels_.size() - 1)) return;
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Level level{.name = std::move(name), .fd = {}};
    level.fd.reset(retried([&] { return openat(parent_fd(), level.name.c_str(), kFlags); }));
    if (!level.fd.valid()) {
      if (errno == ENOENT) return;
      return fail(io_fault("open a folder"));
    }
    struct statx info;
    if (retried([&] {
          return statx(level.fd.get(), "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &info);
        }) != 0)
      return fail(io_fault("statx"));
    level.device = makedev(info.stx_dev_major, info.stx_dev_minor);
    level.inode = info.stx_ino;
    const bool is_mounted = (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    if (is_mounted || (!levels_.empty() && level.device != levels_.front().device))
      return fail({Why::in_the_way, EXDEV, "another file system is mounted there"});
    level.path_bytes = path_.size();
    if (!levels_.empty()) path_ += level.name + '/';
    levels_.push_back(std::move(level));
    if (levels_.size() > kOpenMax) levels_[levels_.size() - 1 - kOpenMax].fd.reset();
  }

  /// The last level is read to its end.
  void leave() {
    Level& level = levels_.back();
    if (level.kept > 0 || !level.holding.empty()) {
      removed_.kept += level.kept;
      std::string name = std::move(level.name);
      pop();
      if (!levels_.empty()) levels_.back().holding.push_back(std::move(name));
      return;
    }
    if (!may_remove()) return;
    if (levels_.size() > 1 && !open_again(levels_.size() - 2)) return;
    const int parent = levels_.size() > 1 ? levels_[levels_.size() - 2].fd.get() : base_;
    if (retried([&] { return unlinkat(parent, level.name.c_str(), AT_REMOVEDIR); }) == 0) {
      ++removed_.entries;
      pop();
      if (!levels_.empty()) levels_.back().removed_any = true;
    } else if (errno == ENOENT) {
      pop();
    } else if (errno == ENOTEMPTY && level.removed_any) {
      // Some file systems skip names while others are removed.
      level.removed_any = false;
      if (lseek(level.fd.get(), 0, SEEK_SET) < 0) fail(io_fault("lseek"));
    } else {
      fail(io_fault("rmdir"));
      if (errno == ENOTEMPTY) removed_.fault->why = Why::drift_dst;
    }
  }

  void pop() {
    path_.resize(levels_.back().path_bytes);
    levels_.pop_back();
  }

  bool open_again(std::size_t index) {
    Level& level = levels_[index];
    if (level.fd.valid()) return true;
    std::string path;
    for (std::size_t at = 0; at <= index; ++at) path += (at == 0 ? "" : "/") + levels_[at].name;
    auto fd = open_folder(base_, path);
    struct stat info;
    if (!fd || fstat(fd->get(), &info) != 0 || info.st_ino != level.inode ||
        info.st_dev != level.device) {
      fail({Why::drift_dst, fd ? 0 : fd.error(), "a folder was moved while it was removed"});
      return false;
    }
    level.fd = std::move(*fd);
    level.kept = 0;
    level.removed_any = false;
    return true;
  }

  const int base_;
  const RemoveRules& rules_;
  std::vector<Level> levels_;
  std::string path_;  // To the last level, below the first; ends in '/' unless it is empty.
  FolderPage page_;
  Removed removed_;
};

/// Nothing to say: it is there, and what the ledger knows. `entries` 0 without fault: it is gone.
std::optional<Removed> check_known(int folder, const Entry& known) {
  const auto now = look_at(folder, known.name);
  if (!now && now.error() == ENOENT) return Removed{};
  if (!now) return Removed{.fault = CopyFault{Why::io, now.error(), "fstatat"}};
  if (still_is(*now, known)) return {};
  return Removed{.fault = drift(Why::drift_dst, "the destination changed")};
}

}  // namespace

Removed remove_entry(int folder, const Entry& known) {
  if (auto end = check_known(folder, known)) return std::move(*end);
  const CName name(known.name);
  const int flags = known.kind == Kind::folder ? AT_REMOVEDIR : 0;
  if (retried([&] { return unlinkat(folder, name.c_str(), flags); }) == 0) return {.entries = 1};
  if (errno == ENOENT) return {};
  Removed removed{.fault = io_fault("unlink")};
  if (errno == ENOTEMPTY) removed.fault->why = Why::in_the_way;
  return removed;
}

Removed remove_tree(int folder, const Entry& known, const RemoveRules& rules) {
  if (known.kind != Kind::folder) return {.fault = CopyFault{Why::io, ENOTDIR, "not a folder"}};
  if (auto end = check_known(folder, known)) return std::move(*end);
  return TreeRemoval(folder, rules).run(known.name);
}

}  // namespace sluice::migrate
