// SPDX-License-Identifier: MIT
#include "migrate/file_hash.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "migrate/content_hash.h"
#include "migrate/stat_entry.h"
#include "migrate/system_call.h"
#include "migrate/thread_buffer.h"

namespace sluice::migrate {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

/// No fault if `fd` is the file that `entry` describes.
Fault check_same(int fd, const Entry& entry) {
  struct statx info;
  const unsigned mask = STATX_TYPE | STATX_SIZE | STATX_MTIME;
  if (retried([&] { return ::statx(fd, "", AT_EMPTY_PATH, mask, &info); }) != 0)
    return {errno, "statx"};
  const bool same = entry.kind == Kind::file && S_ISREG(info.stx_mode) &&
                    info.stx_size == entry.size && nanoseconds_of(info.stx_mtime) == entry.mtime_ns;
  return {.detail = same ? "" : "read", .changed = !same};
}

}  // namespace

std::int64_t nanoseconds_of(const struct statx_timestamp& time) {
  return time_ns(time.tv_sec, time.tv_nsec);
}

Fault hash_file(int fd, const Entry& entry, Hash& hash) {
  if (Fault fault = check_same(fd, entry); !fault.ok()) return fault;
  // Advice: if it is not taken, nothing is lost.
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  const ThreadBuffer<kReadBytes> buffer;
  ContentHash content;
  std::uint64_t total = 0;
  while (true) {
    const ssize_t got = retried([&] { return ::read(fd, buffer.data(), kReadBytes); });
    if (got < 0) return {errno, "read"};
    if (got == 0) break;
    total += static_cast<std::uint64_t>(got);
    content.add(buffer.data(), static_cast<std::size_t>(got));
  }
  hash = content.finish();
  if (total != entry.size) return {.detail = "read", .changed = true};
  return check_same(fd, entry);
}

}  // namespace sluice::migrate
