// SPDX-License-Identifier: MIT
#include "kv/lmdb/shared_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/check.h"
#include "kv/lmdb/environment.h"

namespace sluice::kv {

struct SharedFile::Layout {
  static constexpr std::uint64_t kMagic = 0x31306c6c65426c53;  // "SlBell01"

  std::uint64_t magic;
  alignas(64) pthread_mutex_t gate;
  alignas(64) BellWords bells;
};

namespace {

Failure failed(const std::string& what, const std::string& path) {
  return Failure{lmdb_status(errno, what + " " + path)};
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

Result<std::unique_ptr<SharedFile>> SharedFile::open(const std::string& dir) {
  const std::string path = dir + "/bell";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("cannot open", path);
  // Every user of the file holds it locked as shared, until its descriptor is closed, by a kill at
  // the latest. Whoever gets it exclusively is alone, and finds only what a former boot left.
  const bool alone = flock(fd, LOCK_EX | LOCK_NB) == 0;
  // Room is taken from the disk now: touching a page of the mapping that has none would kill us.
  if (alone && (errno = posix_fallocate(fd, 0, sizeof(Layout))) != 0) {
    auto failure = failed("cannot make", path);
    ::close(fd);
    return failure;
  }
  if (!alone && flock(fd, LOCK_SH) != 0) {  // Waits for one that is just setting it up.
    auto failure = failed("cannot lock", path);
    ::close(fd);
    return failure;
  }
  struct stat info{};
  void* memory = MAP_FAILED;
  if (fstat(fd, &info) == 0 && static_cast<std::size_t>(info.st_size) >= sizeof(Layout))
    memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    auto failure = failed("cannot map", path);
    ::close(fd);
    return failure;
  }
  auto* layout = static_cast<Layout*>(memory);
  if (alone) {
    layout->magic = Layout::kMagic;
    init_gate(layout->gate);
  }
  std::unique_ptr<SharedFile> file(new SharedFile(fd, layout));
  if (alone && flock(fd, LOCK_SH) != 0) return failed("cannot share", path);
  if (layout->magic != Layout::kMagic)
    return error(Code::unavailable,
                 path + " is in use by another version of this program: stop that one first");
  return file;
}

SharedFile::~SharedFile() {
  munmap(layout_, sizeof(Layout));
  ::close(fd_);
}

BellWords& SharedFile::bell_words() {
  return layout_->bells;
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
