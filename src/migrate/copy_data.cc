// SPDX-License-Identifier: MIT
#include "migrate/copy_data.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "migrate/content_hash.h"
#include "migrate/system_call.h"

namespace sluice::migrate {
namespace {

constexpr std::uint64_t kSmallBytesMax = 64 * 1024;
// What the kernel copies by itself in one call, if nobody counts the bytes.
constexpr std::uint64_t kKernelBytesMax = 64 << 20;

// Whether it is worth asking for shared blocks. One pair of trees is copied per process, so the
// first answer holds for all.
std::atomic<bool> may_clone = true;

using Step = std::optional<CopyFault>;  // Nothing: go on.

CopyFault io(const char* call) {
  return {.error = errno, .detail = call};
}

CopyFault ended_early() {
  return {.why = CopyFault::Why::drift_src, .detail = "the source became shorter"};
}

/// Memory for one piece, the thread's own: fresh pages cost more than copying a file that needs
/// few.
char* piece_buffer() {
  alignas(8) thread_local std::unique_ptr<char[]> buffer;
  if (!buffer) buffer = std::make_unique_for_overwrite<char[]>(kCopyPieceBytesMax);
  return buffer.get();
}

/// How much of `bytes` was there; less only at the end of the file.
ssize_t read_at(int fd, char* bytes, std::size_t size, std::uint64_t at) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = retried(
        [&] { return pread(fd, bytes + done, size - done, static_cast<off_t>(at + done)); });
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

bool write_at(int fd, const char* bytes, std::size_t size, std::uint64_t at) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t put = retried(
        [&] { return pwrite(fd, bytes + done, size - done, static_cast<off_t>(at + done)); });
    if (put < 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

class DataCopy {
 public:
  DataCopy(const DataOrder& order, const CopyRules& rules)
      : from_(order.from),
        to_(order.to),
        size_(static_cast<std::uint64_t>(order.info.st_size)),
        has_holes_(static_cast<std::uint64_t>(order.info.st_blocks) * 512 < size_),
        rules_(rules) {
    if (rules.verify) hash_.emplace();
  }

  CopyResult<DataCopied> run() {
    Step fault = copy();
    DataCopied copied{.bytes = bytes_};
    if (!fault && hash_) {
      copied.hash = hash_->finish();
      fault = read_back(*copied.hash);
    }
    if (fault) return tl::unexpected(std::move(*fault));
    return copied;
  }

 private:
  Step copy() {
    if (size_ == 0) return {};
    if (!has_holes_ && size_ < kSmallBytesMax) return copy_small();
    if (!hash_ && clone()) return {};
    if (has_holes_) return copy_islands();
    return copy_range(0, size_);
  }

  static CopyFault stopped() { return {.error = ECANCELED, .detail = "stopped"}; }

  void before_piece(std::size_t bytes) {
    if (rules_.throttle && !waited_) rules_.throttle(bytes);
    waited_ = false;
  }

  Step copy_small() {
    std::array<char, kSmallBytesMax> bytes;
    before_piece(size_);
    const ssize_t got = read_at(from_, bytes.data(), size_, 0);
    if (got < 0) return io("read");
    if (static_cast<std::uint64_t>(got) < size_) return ended_early();
    if (!write_at(to_, bytes.data(), size_, 0)) return io("write");
    if (hash_) hash_->add(bytes.data(), size_);
    bytes_ = size_;
    return {};
  }

  bool clone() {
    if (!may_clone.load(std::memory_order_relaxed)) return false;
    if (retried([&] { return ioctl(to_, FICLONE, from_); }) == 0) {
      bytes_ = size_;
      return true;
    }
    if (errno == EOPNOTSUPP || errno == EXDEV || errno == ENOTTY) may_clone = false;
    return false;
  }

  /// What lies between the holes; then the size, for the hole at the end.
  Step copy_islands() {
    std::uint64_t done = 0;
    while (done < size_) {
      off_t begin = lseek(from_, static_cast<off_t>(done), SEEK_DATA);
      if (begin < 0 && errno == ENXIO) break;
      if (begin < 0 && errno == EINVAL) begin = static_cast<off_t>(done);
      if (begin < 0) return io("lseek");
      off_t end = lseek(from_, begin, SEEK_HOLE);
      if (end < 0) end = end_of_file();
      const std::uint64_t first = std::min(static_cast<std::uint64_t>(begin), size_);
      const std::uint64_t last = std::min(static_cast<std::uint64_t>(end), size_);
      hash_hole(first - done);
      if (Step fault = copy_range(first, last)) return fault;
      done = last;
    }
    hash_hole(size_ - done);
    if (retried([&] { return ftruncate(to_, end_of_file()); }) != 0) return io("ftruncate");
    return {};
  }

  off_t end_of_file() const { return static_cast<off_t>(size_); }

  void hash_hole(std::uint64_t bytes) {
    if (!hash_ || bytes == 0) return;
    char* zeros = piece_buffer();
    std::fill_n(zeros, std::min<std::uint64_t>(bytes, kCopyPieceBytesMax), '\0');
    while (bytes > 0) {
      const auto piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kCopyPieceBytesMax));
      hash_->add(zeros, piece);
      bytes -= piece;
    }
  }

  Step copy_range(std::uint64_t at, std::uint64_t end) {
    if (hash_ || !kernel_copies_) return pump_range(at, end);
    const std::uint64_t most = rules_.throttle ? kCopyPieceBytesMax : kKernelBytesMax;
    while (at < end) {
      const auto piece = static_cast<std::size_t>(std::min(end - at, most));
      if (rules_.stop.stop_requested()) return stopped();
      before_piece(piece);
      auto in = static_cast<off_t>(at);
      off_t out = in;
      const ssize_t got = retried([&] { return copy_file_range(from_, &in, to_, &out, piece, 0); });
      // Between two file systems, of some kinds, and of files that are made up while they are read
      // it refuses, or says that the file ends here. Reading finds out what is true, and the reason
      // if there is one.
      if (got == 0 || (got < 0 && errno != ENOSPC && errno != EDQUOT)) {
        kernel_copies_ = false;
        waited_ = true;
        return pump_range(at, end);
      }
      if (got < 0) return io("copy_file_range");
      at += static_cast<std::uint64_t>(got);
      bytes_ += static_cast<std::uint64_t>(got);
    }
    return {};
  }

  Step pump_range(std::uint64_t at, std::uint64_t end) {
    char* bytes = piece_buffer();
    while (at < end) {
      const auto piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(end - at, kCopyPieceBytesMax));
      if (rules_.stop.stop_requested()) return stopped();
      before_piece(piece);
      const ssize_t got = read_at(from_, bytes, piece, at);
      if (got < 0) return io("read");
      if (static_cast<std::size_t>(got) < piece) return ended_early();
      if (!write_at(to_, bytes, piece, at)) return io("write");
      if (hash_) hash_->add(bytes, piece);
      at += piece;
      bytes_ += piece;
    }
    return {};
  }

  /// From the disk, as far as the kernel can be talked into that: what is not written yet stays in
  /// memory, so it is written first.
  Step read_back(const Hash& expected) const {
    if (retried([&] { return fdatasync(to_); }) != 0) return io("fdatasync");
    posix_fadvise(to_, 0, 0, POSIX_FADV_DONTNEED);
    ContentHash hash;
    char* bytes = piece_buffer();
    for (std::uint64_t at = 0;;) {
      const ssize_t got = read_at(to_, bytes, kCopyPieceBytesMax, at);
      if (got < 0) return io("read back");
      hash.add(bytes, static_cast<std::size_t>(got));
      at += static_cast<std::uint64_t>(got);
      if (static_cast<std::size_t>(got) < kCopyPieceBytesMax) break;
    }
    if (hash.finish() == expected) return {};
    return CopyFault{.why = CopyFault::Why::verify_failed,
                     .detail = "what was read back is not what was written"};
  }

  const int from_;
  const int to_;
  const std::uint64_t size_;
  const bool has_holes_;
  const CopyRules& rules_;
  bool kernel_copies_ = true;
  bool waited_ = false;  // For the next piece, before another way to move it failed.
  std::uint64_t bytes_ = 0;
  std::optional<ContentHash> hash_ = {};
};

}  // namespace

CopyResult<DataCopied> copy_data(const DataOrder& order, const CopyRules& rules) {
  return DataCopy(order, rules).run();
}

}  // namespace sluice::migrate
