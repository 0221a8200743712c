// SPDX-License-Identifier: MIT
// The least that a comparison of two trees can do: read the names of both sides, look at every one,
// sort, merge. It keeps nothing and has no rules, retries, or bounds on its memory.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "base/descriptor.h"
#include "child.h"
#include "first_failure.h"
#include "migrate_parts.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kDirentBytes = 128 * 1024;
constexpr unsigned kMask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID |
                           STATX_MTIME | STATX_SIZE | STATX_INO;

struct Found {
  std::uint32_t name_at = 0;
  std::uint32_t name_bytes = 0;
  std::uint32_t mode = 0, uid = 0, gid = 0;
  std::uint64_t size = 0;
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;

  bool is_folder() const { return (mode & S_IFMT) == S_IFDIR; }
  /// The size of a folder is the file system's affair.
  bool like(const Found& other) const {
    return mode == other.mode && uid == other.uid && gid == other.gid && seconds == other.seconds &&
           nanoseconds == other.nanoseconds && (is_folder() || size == other.size);
  }
};

/// The names of one directory, sorted.
class Names {
 public:
  Status read(int root, const std::string& path) {
    rows_.clear();
    text_.clear();
    const Descriptor fd(
        openat(root, path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return {Code::io_error, "cannot open " + path};
    for (;;) {
      const ssize_t got = getdents64(fd.get(), buffer_.get(), kDirentBytes);
      if (got < 0) return {Code::io_error, "cannot read " + path};
      if (got == 0) break;
      SLUICE_TRY(add(fd.get(), static_cast<std::size_t>(got)));
    }
    std::ranges::sort(rows_, {}, [this](const Found& row) { return name(row); });
    return {};
  }
  void clear() { rows_.clear(); }

  const std::vector<Found>& rows() const { return rows_; }
  std::string_view name(const Found& row) const {
    return std::string_view(text_).substr(row.name_at, row.name_bytes);
  }

 private:
  Status add(int fd, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer_.get() + at);
      at += entry->d_reclen;
      const std::string_view found = entry->d_name;
      if (found == "." || found == "..") continue;
      struct statx info;
      if (statx(fd, entry->d_name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, kMask, &info) != 0)
        return {Code::io_error, "cannot look at " + std::string(found)};
      rows_.push_back({.name_at = static_cast<std::uint32_t>(text_.size()),
                       .name_bytes = static_cast<std::uint32_t>(found.size()),
                       .mode = info.stx_mode,
                       .uid = info.stx_uid,
                       .gid = info.stx_gid,
                       .size = info.stx_size,
                       .seconds = info.stx_mtime.tv_sec,
                       .nanoseconds = info.stx_mtime.tv_nsec});
      text_ += found;
    }
    return {};
  }

  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kDirentBytes);
  std::vector<Found> rows_;
  std::string text_;
};

struct Task {
  std::string path = {};
  bool on_dst = true;
};

/// Directories to look at. Thread-safe.
class Tasks {
 public:
  /// The next one, once there is one; false at the end, when nobody works on any.
  bool take(Task& task) {
    MutexLock lock(mutex_);
    while (tasks_.empty() && holding_ > 0) {
      ++idle_;
      changed_.wait(lock);
    }
    if (tasks_.empty()) return false;
    task = std::move(tasks_.back());
    tasks_.pop_back();
    ++holding_;
    return true;
  }
  /// What was found in the one that was taken.
  void give(std::vector<Task>& found) {
    const MutexLock lock(mutex_);
    for (Task& task : found) tasks_.push_back(std::move(task));
    found.clear();
    --holding_;
    if (idle_ == 0) return;
    idle_ = 0;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Task> tasks_ SLUICE_GUARDED_BY(mutex_) = {{}};
  unsigned holding_ SLUICE_GUARDED_BY(mutex_) = 0;
  unsigned idle_ SLUICE_GUARDED_BY(mutex_) = 0;
};

class Walker {
 public:
  Walker(int src_root, int dst_root) : src_root_(src_root), dst_root_(dst_root) {}

  Status walk(Tasks& tasks) {
    Status status;
    std::vector<Task> found;
    for (Task task; tasks.take(task);) {
      if (status.ok()) status = compare(task, found);
      tasks.give(found);
    }
    return status;
  }
  std::int64_t differences() const { return differences_; }

 private:
  Status compare(const Task& task, std::vector<Task>& found) {
    SLUICE_TRY(src_.read(src_root_, task.path));
    dst_.clear();
    if (task.on_dst) SLUICE_TRY(dst_.read(dst_root_, task.path));
    auto other = dst_.rows().begin();
    for (const Found& row : src_.rows()) {
      const std::string_view name = src_.name(row);
      for (; other != dst_.rows().end() && dst_.name(*other) < name; ++other) ++differences_;
      const bool both = other != dst_.rows().end() && dst_.name(*other) == name;
      if (!both || !row.like(*other)) ++differences_;
      if (row.is_folder()) {
        const bool on_dst = both && other->is_folder();
        found.push_back(
            {.path = task.path.empty() ? std::string(name) : task.path + '/' + std::string(name),
             .on_dst = on_dst});
      }
      if (both) ++other;
    }
    differences_ += dst_.rows().end() - other;
    return {};
  }

  int src_root_, dst_root_;
  Names src_, dst_;
  std::int64_t differences_ = 0;
};

}  // namespace

Status walker_process(const std::vector<std::string>& args) {
  const Descriptor src(open(args.at(0).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Descriptor dst(open(args.at(1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Tasks tasks;
  FirstFailure failure;
  std::vector<Walker> walkers;
  for (int i = std::stoi(args.at(2)); i > 0; --i) walkers.emplace_back(src.get(), dst.get());
  {
    std::vector<std::jthread> threads;
    for (Walker& walker : walkers) threads.emplace_back([&] { failure.note(walker.walk(tasks)); });
  }
  SLUICE_TRY(failure.get());
  std::int64_t differences = 0;
  for (const Walker& walker : walkers) differences += walker.differences();
  tell_parent({differences});
  return {};
}

}  // namespace sluice::bench
