// SPDX-License-Identifier: MIT
// Preloaded into a program (LD_PRELOAD), this logs in order everything that the program does to its
// data file, and what it says in its notes. It sees system calls only: whoever uses it compares the
// replayed log with the file, which shows whether anything went past it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>

#include "tests/kv/power_cut/io_log.h"

namespace {

using sluice::test::IoHeader;

enum class Target { other, data, data_dir, notes };

bool same_file(const struct stat& a, const std::string& path) {
  struct stat b{};
  return !path.empty() && stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

class Recorder {
 public:
  Recorder()
      : data_(variable(sluice::test::kRecorderData)),
        unfinished_(data_ + sluice::test::kUnfinishedSuffix),
        data_dir_(data_.substr(0, data_.rfind('/'))),
        notes_(variable(sluice::test::kRecorderNotes)) {
    const std::string log = variable(sluice::test::kRecorderLog);
    if (!log.empty()) log_ = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }

  Target target_of(int fd) const {
    struct stat info{};
    if (log_ < 0 || fd == log_ || fstat(fd, &info) != 0) return Target::other;
    if (S_ISREG(info.st_mode) && (same_file(info, data_) || same_file(info, unfinished_)))
      return Target::data;
    if (S_ISREG(info.st_mode) && same_file(info, notes_)) return Target::notes;
    if (S_ISDIR(info.st_mode) && same_file(info, data_dir_)) return Target::data_dir;
    return Target::other;
  }

  bool is_data(const char* path) const { return log_ >= 0 && path == data_; }

  std::uint64_t log(IoHeader header, const iovec* parts = nullptr, int count = 0) {
    const std::lock_guard lock(mutex_);
    if (header.id == 0) header.id = ++last_id_;
    std::string bytes;
    for (int i = 0; i < count; ++i)
      bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    header.bytes = bytes.size();
    bytes.insert(0, reinterpret_cast<const char*>(&header), sizeof header);
    if (syscall(SYS_write, log_, bytes.data(), bytes.size()) != static_cast<long>(bytes.size()))
      std::abort();
    return header.id;
  }

 private:
  const std::string data_;
  const std::string unfinished_;
  const std::string data_dir_;
  const std::string notes_;
  int log_ = -1;
  std::mutex mutex_;
  std::uint64_t last_id_ = 0;
};

Recorder& recorder() {
  static Recorder instance;
  return instance;
}

// Logs a write around `call`, which makes it. `offset` < 0: at the descriptor's position.
template <class Call>
ssize_t recorded_write(int fd, const iovec* parts, int count, off_t offset, Call call) {
  const Target target = recorder().target_of(fd);
  if (target == Target::notes) recorder().log({.kind = IoHeader::note}, parts, count);
  if (target != Target::data) return call();
  IoHeader header{.kind = IoHeader::write_begin};
  header.synchronous = (fcntl(fd, F_GETFL) & (O_DSYNC | O_SYNC)) != 0 ? 1 : 0;
  header.offset = static_cast<std::uint64_t>(offset >= 0 ? offset : lseek(fd, 0, SEEK_CUR));
  std::size_t whole = 0;
  for (int i = 0; i < count; ++i) whole += parts[i].iov_len;
  header.id = recorder().log(header, parts, count);
  const ssize_t result = call();
  header.kind = IoHeader::write_done;
  // One that failed or wrote less stays pending: any part of it may be there.
  if (result == static_cast<ssize_t>(whole)) {
    const int kept = errno;
    recorder().log(header);
    errno = kept;
  }
  return result;
}

int recorded_sync(int fd, long number) {
  const Target target = recorder().target_of(fd);
  IoHeader header{.kind = IoHeader::sync_begin};
  if (target == Target::data) header.id = recorder().log(header);
  const auto result = static_cast<int>(syscall(number, fd));
  if (result != 0) return result;
  if (target == Target::data) {
    header.kind = IoHeader::sync_done;
    recorder().log(header);
  } else if (target == Target::data_dir) {
    recorder().log({.kind = IoHeader::dir_sync});
  }
  return result;
}

}  // namespace

extern "C" {

ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  const iovec part{const_cast<void*>(data), bytes};
  return recorded_write(fd, &part, 1, offset,
                        [&] { return syscall(SYS_pwrite64, fd, data, bytes, offset); });
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return pwrite64(fd, data, bytes, offset);
}

ssize_t write(int fd, const void* data, size_t bytes) {
  const iovec part{const_cast<void*>(data), bytes};
  return recorded_write(fd, &part, 1, -1, [&] { return syscall(SYS_write, fd, data, bytes); });
}

ssize_t writev(int fd, const iovec* parts, int count) {
  return recorded_write(fd, parts, count, -1,
                        [&] { return syscall(SYS_writev, fd, parts, count); });
}

ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return recorded_write(fd, parts, count, offset,
                        [&] { return syscall(SYS_pwritev, fd, parts, count, offset, 0L); });
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return pwritev64(fd, parts, count, offset);
}

int fdatasync(int fd) {
  return recorded_sync(fd, SYS_fdatasync);
}

int fsync(int fd) {
  return recorded_sync(fd, SYS_fsync);
}

int rename(const char* from, const char* to) noexcept {
  if (recorder().is_data(to)) recorder().log({.kind = IoHeader::rename});
  return static_cast<int>(syscall(SYS_rename, from, to));
}

int ftruncate64(int fd, off64_t size) noexcept {
  if (recorder().target_of(fd) == Target::data)
    recorder().log({.kind = IoHeader::truncate, .offset = static_cast<std::uint64_t>(size)});
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

int ftruncate(int fd, off_t size) noexcept {
  return ftruncate64(fd, size);
}

}  // extern "C"
