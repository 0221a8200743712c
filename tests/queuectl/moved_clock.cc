// SPDX-License-Identifier: MIT
// Preloaded: the wall clock is off by the seconds that stand, as text, in the file that
// $MOVED_CLOCK names; they may change at any time. Clocks that nobody can set stay as they are.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t moved_by() {
  const char* const path = getenv("MOVED_CLOCK");
  const int fd = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return 0;
  char text[32] = {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  return got > 0 ? strtol(text, nullptr, 10) : 0;
}

int read_moved(clockid_t clock, timespec* now) {
  const int rc = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += moved_by();
  return rc;
}

}  // namespace

// tidy: allow clock because it is the one that others read
extern "C" int clock_gettime(clockid_t clock, timespec* now) {
  return read_moved(clock, now);
}

// tidy: allow clock because it is the one that others read
extern "C" int gettimeofday(timeval* __restrict now, void* __restrict) {
  timespec exact{};
  read_moved(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

extern "C" time_t time(time_t* seconds) {
  timespec now{};
  read_moved(CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}
