// SPDX-License-Identifier: MIT
#include "worker/old_logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace sluice::worker {

std::uint64_t remove_old_logs(const std::string& root, unsigned folder, WallTime before) {
  char name[8];
  std::snprintf(name, sizeof name, "/%02x", folder & 0xffU);
  const auto close = [](DIR* dir) { closedir(dir); };
  const std::unique_ptr<DIR, decltype(close)> dir(opendir((root + name).c_str()), close);
  if (!dir) return 0;
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(before.time_since_epoch());
  std::uint64_t removed = 0;
  while (const dirent* entry = readdir(dir.get())) {
    struct stat info{};
    if (fstatat(dirfd(dir.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode) || info.st_mtim.tv_sec >= limit.count()) continue;
    if (unlinkat(dirfd(dir.get()), entry->d_name, 0) == 0) ++removed;
  }
  return removed;
}

}  // namespace sluice::worker
