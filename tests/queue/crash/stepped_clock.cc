// SPDX-License-Identifier: MIT
#include "tests/queue/crash/stepped_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"

namespace sluice::test {

static_assert(std::atomic<std::int64_t>::is_always_lock_free);

SteppedClock::SteppedClock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  SLUICE_CHECK(fd >= 0 && ftruncate(fd, sizeof(*wrong_by_ns_)) == 0);
  void* const memory =
      mmap(nullptr, sizeof(*wrong_by_ns_), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  SLUICE_CHECK(memory != MAP_FAILED);
  ::close(fd);
  wrong_by_ns_ = static_cast<std::atomic<std::int64_t>*>(memory);
}

SteppedClock::~SteppedClock() {
  munmap(wrong_by_ns_, sizeof(*wrong_by_ns_));
}

WallTime SteppedClock::wall() const {
  return system_clock().wall() + Duration(wrong_by_ns_->load());
}

void SteppedClock::set_wrong_by(Duration by) {
  wrong_by_ns_->store(by.count());
}

}  // namespace sluice::test
