// SPDX-License-Identifier: MIT
#include "kv/lmdb/shared_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "kv/lmdb/environment.h"

namespace sluice::kv {

struct SharedFile::Layout {
  static constexpr std::uint64_t kMagic = 0x32306c6c65426c53;  // "SlBell02"

  std::atomic<std::uint64_t> magic;
  /// Store time less boot clock. Set by a process that is alone, and constant for all that join it.
  std::int64_t offset_ns;
  /// Nobody was ever told a later store time than this.
  alignas(64) std::atomic<std::int64_t> told_ns;
  /// See last_commit(). Where files of older programs have zeros.
  std::atomic<std::uint64_t> last_commit;
  alignas(64) pthread_mutex_t gate;
  alignas(64) BellWords bells;
};

namespace {

// How far told_ns is put ahead of the time that exceeds it, so that few calls write to it. A store
// that is opened again at once goes on that much later than it stopped.
constexpr std::int64_t kTellAheadNs = 100'000;

Failure failed(const std::string& what, const std::string& path) {
  return Failure{lmdb_status(errno, what + " " + path)};
}

Failure other_version(const std::string& path) {
  return error(Code::unavailable,
               path + " is in use by another version of this program: stop that one first");
}

std::int64_t ns_of(MonoTime time) {
  return time.time_since_epoch().count();
}

void init_gate(pthread_mutex_t& gate) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  SLUICE_CHECK(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  SLUICE_CHECK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
  SLUICE_CHECK(pthread_mutex_init(&gate, &attributes) == 0);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

Result<std::unique_ptr<SharedFile>> SharedFile::open(const std::string& dir, const Clock& clock) {
  const std::string path = dir + "/bell";
  // One at a time comes in. Otherwise one that sees another inside might be looking at what a
  // former boot left, because the other is killed before it has set the file up.
  const Descriptor door(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (door.get() < 0 || flock(door.get(), LOCK_EX) != 0) return failed("cannot lock", dir);
  std::unique_ptr<SharedFile> file(
      new SharedFile(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), clock));
  const int fd = file->file_.get();
  if (fd < 0) return failed("cannot open", path);
  // Every user of the file holds it locked as shared, until its descriptor is closed, by a kill at
  // the latest. Whoever gets it exclusively is alone.
  const bool alone = flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (!alone && errno != EWOULDBLOCK) return failed("cannot lock", path);
  // Room is taken from the disk now: touching a page of the mapping that has none would kill us.
  if (alone && (errno = posix_fallocate(fd, 0, sizeof(Layout))) != 0)
    return failed("cannot make", path);
  SLUICE_TRY(file->map(path));
  if (alone) file->start();
  if (file->layout_->magic != Layout::kMagic) return other_version(path);
  if (flock(fd, LOCK_SH) != 0) return failed("cannot share", path);
  return file;
}

Status SharedFile::map(const std::string& path) {
  struct stat info{};
  if (fstat(file_.get(), &info) != 0) return failed("cannot open", path);
  if (static_cast<std::size_t>(info.st_size) < sizeof(Layout)) return other_version(path);
  void* memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) return failed("cannot map", path);
  layout_ = static_cast<Layout*>(memory);
  return {};
}

// A kill in the middle is harmless: the next process is alone as well, and does it again.
void SharedFile::start() {
  if (layout_->magic != Layout::kMagic) layout_->told_ns = 0;
  const std::int64_t wall_ns = clock_.wall().time_since_epoch().count();
  layout_->offset_ns = std::max(wall_ns, layout_->told_ns.load()) - ns_of(clock_.mono());
  init_gate(layout_->gate);
  layout_->magic = Layout::kMagic;  // Last: it vouches for told_ns.
}

SharedFile::~SharedFile() {
  if (layout_ != nullptr) munmap(layout_, sizeof(Layout));
}

BellWords& SharedFile::bell_words() {
  return layout_->bells;
}

WallTime SharedFile::now() const {
  const std::int64_t time_ns = layout_->offset_ns + ns_of(clock_.mono());
  if (time_ns > layout_->told_ns.load(std::memory_order_relaxed)) [[unlikely]]
    tell_until(time_ns + kTellAheadNs);
  return WallTime(Duration(time_ns));
}

void SharedFile::tell_until(std::int64_t time_ns) const {
  std::int64_t told_ns = layout_->told_ns.load(std::memory_order_relaxed);
  while (told_ns < time_ns && !layout_->told_ns.compare_exchange_weak(told_ns, time_ns)) {
  }
}

std::uint64_t SharedFile::last_commit() const {
  return layout_->last_commit.load(std::memory_order_relaxed);
}

void SharedFile::note_commit(std::uint64_t transaction) const {
  std::uint64_t last = layout_->last_commit.load(std::memory_order_relaxed);
  while (last < transaction && !layout_->last_commit.compare_exchange_weak(last, transaction)) {
  }
}

Status SharedFile::adopt(int from, int to, const std::string& path) {
  const auto told_by = [](int fd) -> std::int64_t {
    std::uint64_t magic = 0;
    std::int64_t told_ns = 0;
    const bool known =
        fd >= 0 && pread(fd, &magic, sizeof magic, offsetof(Layout, magic)) == sizeof magic &&
        magic == Layout::kMagic &&
        pread(fd, &told_ns, sizeof told_ns, offsetof(Layout, told_ns)) == sizeof told_ns;
    return known ? told_ns : 0;
  };
  const std::int64_t told_ns = std::max(told_by(from), told_by(to));
  const std::uint64_t no_commit = 0;
  const auto put = [&](const auto& value, std::size_t at) {
    return pwrite(to, &value, sizeof value, static_cast<off_t>(at)) == sizeof value;
  };
  if (put(no_commit, offsetof(Layout, last_commit)) && put(told_ns, offsetof(Layout, told_ns)) &&
      put(Layout::kMagic, offsetof(Layout, magic)) && fsync(to) == 0)
    return {};
  return lmdb_status(errno, "cannot write " + path);
}

// The rest of the file is taken from the disk by the first process that opens the copy.
Status SharedFile::copy_time_to(const std::string& dir) const {
  const std::string path = dir + "/bell";
  std::array<char, offsetof(Layout, told_ns) + sizeof(Layout::told_ns)> bytes{};
  const std::int64_t told_ns = layout_->told_ns;
  std::memcpy(bytes.data() + offsetof(Layout, magic), &Layout::kMagic, sizeof Layout::kMagic);
  std::memcpy(bytes.data() + offsetof(Layout, told_ns), &told_ns, sizeof told_ns);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return failed("cannot make", path);
  const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
  if (written >= 0 && written != static_cast<ssize_t>(bytes.size())) errno = ENOSPC;
  if (written != static_cast<ssize_t>(bytes.size()) || fsync(file.get()) != 0)
    return failed("cannot write", path);
  return {};
}

void SharedFile::lock_gate() {
  const int rc = pthread_mutex_lock(&layout_->gate);
  if (rc == EOWNERDEAD) pthread_mutex_consistent(&layout_->gate);
  SLUICE_CHECK(rc == 0 || rc == EOWNERDEAD);
}

void SharedFile::unlock_gate() {
  SLUICE_CHECK(pthread_mutex_unlock(&layout_->gate) == 0);
}

}  // namespace sluice::kv
