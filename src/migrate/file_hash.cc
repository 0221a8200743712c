// SPDX-License-Identifier: MIT
#include "migrate/file_hash.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <memory>

#include "base/check.h"
#include "migrate/root_dir.h"
#include "migrate/thread_buffer.h"

namespace sluice::migrate {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// No fault if `fd` is the file that `entry` describes.
Fault check_same(int fd, const Entry& entry) {
  struct statx info;
  const unsigned mask = STATX_TYPE | STATX_SIZE | STATX_MTIME;
  if (uninterrupted([&] { return ::statx(fd, "", AT_EMPTY_PATH, mask, &info); }) != 0)
    return {errno, "statx"};
  const bool same = entry.kind == Kind::file && S_ISREG(info.stx_mode) &&
                    info.stx_size == entry.size && nanoseconds_of(info.stx_mtime) == entry.mtime_ns;
  return {.detail = same ? "" : "read", .changed = !same};
}

}  // namespace

std::int64_t nanoseconds_of(const struct statx_timestamp& time) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (time.tv_sec >= Limits::max() / kSecond) return Limits::max();
  if (time.tv_sec < Limits::min() / kSecond) return Limits::min();
  return time.tv_sec * kSecond + time.tv_nsec;
}

Fault hash_file(int fd, const Entry& entry, Hash& hash) {
  if (Fault fault = check_same(fd, entry); !fault.ok()) return fault;
  // Advice: if it is not taken, nothing is lost.
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  const ThreadBuffer<kReadBytes> buffer;
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  SLUICE_CHECK(state && XXH3_128bits_reset(state.get()) == XXH_OK);
  std::uint64_t total = 0;
  while (true) {
    const ssize_t got = uninterrupted([&] { return ::read(fd, buffer.data(), kReadBytes); });
    if (got < 0) return {errno, "read"};
    if (got == 0) break;
    total += static_cast<std::uint64_t>(got);
    XXH3_128bits_update(state.get(), buffer.data(), static_cast<std::size_t>(got));
  }
  XXH128_canonical_t canonical;
  static_assert(sizeof canonical.digest == sizeof hash);
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), hash.begin());
  if (total != entry.size) return {.detail = "read", .changed = true};
  return check_same(fd, entry);
}

}  // namespace sluice::migrate
