// SPDX-License-Identifier: MIT
// The trees that bench_migrate works on.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/descriptor.h"
#include "migrate_parts.h"

namespace sluice::bench {
namespace {

constexpr std::uint32_t kDepthMax = 10;
constexpr std::int64_t kFirstSecond = 1'600'000'000;

/// Sixty-four bits that look like chance (splitmix64): the same for the same two numbers.
std::uint64_t mix(std::uint64_t number, std::uint64_t what) {
  std::uint64_t bits = (number + 1) * 0x9e3779b97f4a7c15U + what * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

Status failed(const std::string& what) {
  return {Code::io_error, fmt::format("cannot make {}: {}", what, std::strerror(errno))};
}

std::array<timespec, 2> times_of(std::int64_t seconds) {
  const timespec time{.tv_sec = seconds, .tv_nsec = seconds % 1000 * 1'000'003};
  return {time, time};
}

struct File {
  std::string name = {};
  std::int64_t bytes = 0;
  std::int64_t seconds = 0;
};

// Without content: nothing that is measured reads it, and a hole needs no memory.
Status make_file(int folder, const File& file) {
  const Descriptor fd(
      openat(folder, file.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid() || ftruncate(fd.get(), file.bytes) != 0 ||
      futimens(fd.get(), times_of(file.seconds).data()) != 0)
    return failed(file.name);
  return {};
}

Result<Descriptor> make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0) return Failure{failed(path)};
  Descriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Failure{failed(path)};
  return fd;
}

struct Folder {
  std::string path = {};  ///< Below the root.
  std::uint32_t depth = 0;
  bool on_dst = true;
};

class Pair {
 public:
  Pair(std::string src, std::string dst, std::uint64_t folders, std::uint64_t files)
      : src_(std::move(src)), dst_(std::move(dst)), files_(files), folders_(folders) {}

  Status grow() {
    for (std::uint64_t i = 0; i < folders_.size(); ++i) {
      if (i > 0) place(i);
      SLUICE_TRY(fill(i));
    }
    // At last, because whatever is made in a folder changes its time.
    for (std::uint64_t i = 0; i < folders_.size(); ++i)
      for (const std::string* root : {&src_, &dst_}) {
        if (root == &dst_ && !folders_[i].on_dst) continue;
        const std::string path = *root + folders_[i].path;
        if (utimensat(AT_FDCWD, path.c_str(), times_of(seconds_of(i)).data(), 0) != 0)
          return failed(path);
      }
    return {};
  }

 private:
  static std::int64_t seconds_of(std::uint64_t number) {
    return kFirstSecond + static_cast<std::int64_t>(mix(number, 1) % 100'000'000);
  }

  // Under any of those before it. A few of the later ones, which have little below them, are not
  // on the destination.
  void place(std::uint64_t number) {
    std::uint64_t above = mix(number, 2) % number;
    while (folders_[above].depth + 1 >= kDepthMax) above = mix(above, 3) % above;
    Folder& folder = folders_[number];
    folder.path = fmt::format("{}/folder-{}", folders_[above].path, number);
    folder.depth = folders_[above].depth + 1;
    const bool lost = number > folders_.size() / 2 && mix(number, 4) % 400 == 0;
    folder.on_dst = folders_[above].on_dst && !lost;
  }

  Status fill(std::uint64_t number) {
    const Folder& folder = folders_[number];
    SLUICE_LET(src, make_folder(src_ + folder.path));
    Descriptor dst;
    if (folder.on_dst) {
      SLUICE_LET(made, make_folder(dst_ + folder.path));
      dst = std::move(made);
    }
    const std::uint64_t begin = files_ * number / folders_.size();
    const std::uint64_t end = files_ * (number + 1) / folders_.size();
    for (std::uint64_t i = begin; i < end; ++i) SLUICE_TRY(make_both(src.get(), dst, i));
    if (!dst.valid()) return {};
    // One extra for about every hundred files.
    for (std::uint64_t i = begin; i < end; ++i)
      if (mix(i, 5) % 100 == 0)
        SLUICE_TRY(make_file(dst.get(), {.name = fmt::format("extra-{}", i), .bytes = 1}));
    return {};
  }

  /// Of a thousand files ten have another size, ten another time, twenty-two are missing and two
  /// are something else on the destination.
  static Status make_both(int src, const Descriptor& dst, std::uint64_t number) {
    File file{.name = fmt::format("file-{}-{:x}", number, mix(number, 6) % 65'536),
              .bytes = static_cast<std::int64_t>(mix(number, 7) % 65'536),
              .seconds = seconds_of(number)};
    SLUICE_TRY(make_file(src, file));
    if (!dst.valid()) return {};
    const std::uint64_t fate = mix(number, 8) % 1000;
    if (fate < 10) file.bytes += 100;
    if (fate >= 10 && fate < 20) file.seconds += 3600;
    if (fate >= 20 && fate < 42) return {};
    const bool folder_there = fate == 42 && mkdirat(dst.get(), file.name.c_str(), 0755) == 0;
    const bool link_there = fate == 43 && symlinkat("nowhere", dst.get(), file.name.c_str()) == 0;
    if (folder_there || link_there) return {};
    return make_file(dst.get(), file);
  }

  std::string src_, dst_;
  std::uint64_t files_;
  std::vector<Folder> folders_;
};

Status grow_chain(const std::string& root, std::uint64_t depth) {
  SLUICE_LET(top, make_folder(root));
  Descriptor above = std::move(top);
  for (std::uint64_t i = 0; i < depth; ++i) {
    if (mkdirat(above.get(), "d", 0755) != 0) return failed(root);
    Descriptor below(openat(above.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!below.valid()) return failed(root);
    if (futimens(above.get(), times_of(kFirstSecond).data()) != 0) return failed(root);
    above = std::move(below);
  }
  return futimens(above.get(), times_of(kFirstSecond).data()) == 0 ? Status() : failed(root);
}

// Bytes that look like chance, so that nobody finds holes or can compress them.
Status write_content(int fd, std::uint64_t seed, std::uint64_t bytes) {
  std::vector<std::uint64_t> block(64 * 1024);
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t size = std::min<std::uint64_t>(bytes - at, block.size() * sizeof block[0]);
    for (std::uint64_t i = 0; i * sizeof block[0] < size; ++i) block[i] = mix(seed, at + i);
    if (write(fd, block.data(), size) != static_cast<ssize_t>(size)) return failed("a file");
    at += size;
  }
  return {};
}

Status grow_files(const std::vector<std::string>& args) {
  const std::string& root = args.at(1);
  const std::uint64_t folders = std::stoull(args.at(2));
  const std::uint64_t files = std::stoull(args.at(3));
  const std::uint64_t bytes = std::stoull(args.at(4));
  SLUICE_TRY(make_folder(root));
  for (std::uint64_t i = 0; i < folders; ++i) {
    SLUICE_LET(folder, make_folder(fmt::format("{}/folder-{}", root, i)));
    for (std::uint64_t j = files * i / folders; j < files * (i + 1) / folders; ++j) {
      const Descriptor fd(openat(folder.get(), fmt::format("file-{}", j).c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
      if (!fd.valid()) return failed("a file");
      SLUICE_TRY(write_content(fd.get(), j, bytes));
    }
  }
  return {};
}

}  // namespace

Status grow_process(const std::vector<std::string>& args) {
  if (args.at(0) == "files") return grow_files(args);
  const std::uint64_t count = std::stoull(args.at(3));
  if (args.at(0) == "pair")
    return Pair(args.at(1), args.at(2), count, std::stoull(args.at(4))).grow();
  SLUICE_TRY(grow_chain(args.at(1), count));
  return grow_chain(args.at(2), count);
}

}  // namespace sluice::bench
