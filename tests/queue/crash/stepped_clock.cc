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
  SLUICE_CHECK(fd >= 0 && ftruncate(fd, sizeof(Layout)) == 0);
  void* const memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  SLUICE_CHECK(memory != MAP_FAILED);
  ::close(fd);
  layout_ = static_cast<Layout*>(memory);
}

SteppedClock::~SteppedClock() {
  munmap(layout_, sizeof(Layout));
}

WallTime SteppedClock::wall() const {
  return MachineClock::wall() + Duration(layout_->wrong_by_ns + layout_->suspended_ns);
}

MonoTime SteppedClock::mono() const {
  return MachineClock::mono() + Duration(layout_->suspended_ns);
}

void SteppedClock::set_wrong_by(Duration by) {
  layout_->wrong_by_ns = by.count();
}

void SteppedClock::suspend(Duration lasted) {
  layout_->suspended_ns += lasted.count();
}

}  // namespace sluice::test
