// SPDX-License-Identifier: MIT
#include "kv/lmdb/directory_claim.h"

#include <sys/stat.h>

#include <cerrno>
#include <set>

#include "base/mutex.h"
#include "kv/lmdb/environment.h"

namespace sluice::kv {
namespace {

// Which directories this process has open. It has to be one list for the process: what it guards
// against is a second user of a directory that knows nothing of the first.
struct OpenDirectories {
  Mutex mutex;
  std::set<std::pair<std::uint64_t, std::uint64_t>> ids SLUICE_GUARDED_BY(mutex);
};
OpenDirectories& open_directories() {
  static OpenDirectories directories;
  return directories;
}

}  // namespace

Result<std::unique_ptr<DirectoryClaim>> DirectoryClaim::take(const std::string& dir) {
  struct stat info{};
  if (stat(dir.c_str(), &info) != 0) return Failure{lmdb_status(errno, "cannot open " + dir)};
  const Identity identity{info.st_dev, info.st_ino};
  auto& directories = open_directories();
  const MutexLock lock(directories.mutex);
  if (!directories.ids.insert(identity).second)
    return error(Code::already_exists, dir + " is already open in this process: share that store");
  return std::unique_ptr<DirectoryClaim>(new DirectoryClaim(identity));
}

DirectoryClaim::~DirectoryClaim() {
  auto& directories = open_directories();
  const MutexLock lock(directories.mutex);
  directories.ids.erase(identity_);
}

}  // namespace sluice::kv
