// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <system_error>

#include "base/descriptor.h"
#include "tracker/checksum.h"
#include "tracker/snapshot.h"
#include "tracker/snapshot_format.h"

namespace sluice::tracker {
namespace {

using namespace snapshot_format;

Failure cannot(const char* what, const std::string& path, int number) {
  const Code code = number == ENOSPC || number == EDQUOT ? Code::storage_full : Code::io_error;
  return error(
      code, fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(number)));
}

template <class Number>
void put(std::string& into, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    into.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

template <class Bytes>
void put_bytes(std::string& into, const Bytes& bytes) {
  into.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <class Array>
void put_peers(std::string& into, const Array& array, std::uint32_t now) {
  for (std::uint32_t at = 0; at < array.size(); ++at) {
    const auto& known = array.known(at);
    put_bytes(into, array.endpoint(at));
    put_bytes(into, known.id.bytes);
    // One that was seen since the writing began has no age.
    const std::uint32_t age = now - std::min<std::uint32_t>(now, known.seen);
    put(into, age | (known.has_completed ? kCompletedBit : 0));
  }
}

void put_swarm(std::string& into, const Swarm& swarm, std::uint32_t now) {
  put(into, kSwarm);
  put_bytes(into, swarm.hash().bytes);
  put(into, swarm.counts().downloads);
  put(into, swarm.v4().seeders());
  put(into, swarm.v4().leechers());
  put(into, swarm.v6().seeders());
  put(into, swarm.v6().leechers());
  put_peers(into, swarm.v4(), now);
  put_peers(into, swarm.v6(), now);
}

/// Whether what stands at `path` may be replaced: a snapshot, or nothing at all.
Status check_replaced(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return errno == ENOENT ? Status() : cannot("look at", path, errno);
  char head[kNamedBytes];
  const ssize_t count = ::read(file.get(), head, sizeof head);
  if (count < 0) return cannot("look at", path, errno);
  return check_named({head, static_cast<std::size_t>(count)}, path);
}

/// A new file that gets its name when it is whole; until then it goes away with its writer.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), temp_(path + ".new") {}
  ~NewFile() {
    if (file_.valid()) ::unlink(temp_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Status open() {
    // What a killed writer left may have other rights.
    ::unlink(temp_.c_str());
    file_.reset(::open(temp_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return file_.valid() ? Status() : cannot("make", temp_, errno);
  }
  Status write(std::string_view bytes) {
    sum_ = checksum(bytes, sum_);
    bytes_ += bytes.size();
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return cannot("write", temp_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }
  Status finish() {
    std::string sum;
    put(sum, sum_);
    SLUICE_TRY(write(sum));
    if (::fsync(file_.get()) != 0) return cannot("sync", temp_, errno);
    if (::rename(temp_.c_str(), path_.c_str()) != 0) return cannot("rename", temp_, errno);
    file_.reset();
    return sync_folder();
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Status sync_folder() const {
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == path_.npos ? "." : path_.substr(0, slash + 1);
    const Descriptor dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dir.valid() || ::fsync(dir.get()) != 0) return cannot("sync the folder", folder, errno);
    return {};
  }

  std::string path_;
  std::string temp_;
  Descriptor file_;
  std::uint32_t sum_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<SnapshotSize> write_snapshot(const Swarms& swarms, const std::string& path,
                                    const Clock& clock) {
  SLUICE_TRY(check_replaced(path));
  NewFile file(path);
  SLUICE_TRY(file.open());
  SnapshotSize size;
  const std::uint32_t now = stamp_of(clock.mono());
  std::string bytes(kMagic);
  put(bytes, kVersion);
  put(bytes, static_cast<std::uint64_t>(clock.wall().time_since_epoch().count()));
  for (std::size_t shard = 0; shard < Swarms::kShards; ++shard) {
    for (const Swarm& swarm : swarms.copy_shard(shard)) {
      put_swarm(bytes, swarm, now);
      ++size.swarms;
      size.peers += swarm.size();
    }
    SLUICE_TRY(file.write(bytes));
    bytes.clear();
  }
  put(bytes, kEnd);
  put(bytes, size.swarms);
  put(bytes, size.peers);
  SLUICE_TRY(file.write(bytes));
  SLUICE_TRY(file.finish());
  size.bytes = file.bytes();
  return size;
}

Result<std::string> put_snapshot_aside(const std::string& path, const Clock& clock) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall().time_since_epoch()).count();
  const std::string name =
      fmt::format("{}.bad-{:%Y%m%dT%H%M%S}Z", path, fmt::gmtime(static_cast<std::time_t>(now)));
  // Of several in one second each keeps a name of its own.
  for (int number = 1; number <= 100; ++number) {
    const std::string to = number == 1 ? name : fmt::format("{}-{}", name, number);
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return to;
    if (errno != EEXIST) break;
  }
  return cannot("put aside", path, errno);
}

}  // namespace sluice::tracker
