// SPDX-License-Identifier: MIT
// A static program that does next to nothing: what a process costs at the least. The C library
// alone, because anything else would be started up too.
//
//   bare                ends at once
//   bare sync FILE      overwrites the first 4 KiB of FILE and syncs them
//   bare stamp FILE     appends the time, in nanoseconds of CLOCK_REALTIME, as eight bytes
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace {

int sync_page(const char* file) {
  static char page[4096] = {};
  const int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, page, sizeof page) != sizeof page) return 1;
  return fdatasync(fd) == 0 ? 0 : 1;
}

int stamp(const char* file) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  const int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
  return fd >= 0 && write(fd, &ns, sizeof ns) == sizeof ns ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return 0;
  if (argc == 3 && std::strcmp(argv[1], "sync") == 0) return sync_page(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "stamp") == 0) return stamp(argv[2]);
  return 2;
}
