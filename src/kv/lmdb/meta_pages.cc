// SPDX-License-Identifier: MIT
#include "kv/lmdb/meta_pages.h"

#include <unistd.h>

#include <cerrno>

#include "kv/lmdb/environment.h"

namespace sluice::kv {
namespace {

/// A page's number is even or odd as its place is, and one commit from the other's. A new copy has
/// 0 in the page that is not its own.
bool are_in_turn(const MetaPages& pages) {
  const std::uint64_t first = pages[0].transaction;
  const std::uint64_t second = pages[1].transaction;
  if (second == 0) return first % 2 == 0;
  if (first % 2 != 0 || second % 2 != 1) return false;
  return first == 0 || first + 1 == second || second + 1 == first;
}

}  // namespace

std::size_t page_bytes_of(MDB_env* env) {
  MDB_stat stat{};
  mdb_env_stat(env, &stat);
  return stat.ms_psize;
}

Result<MetaPages> read_meta_pages(int fd, std::size_t page_bytes) {
  MetaPages pages{};
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const auto at = static_cast<off_t>(i * page_bytes);
    const ssize_t size = pread(fd, &pages[i], sizeof(MetaPage), at);
    if (size < 0) return Failure{lmdb_status(errno, "cannot read the meta pages")};
    if (size != sizeof(MetaPage) || pages[i].magic != MetaPage::kMagic ||
        pages[i].version != MetaPage::kVersion)
      return error(Code::corrupt, "the meta pages are not those of LMDB 0.9");
  }
  return pages;
}

Status check_meta_pages(MDB_env* env) {
  int fd = -1;
  mdb_env_get_fd(env, &fd);
  // Between the looks at the two there may be commits, but not each time.
  constexpr int kLooksMax = 100;
  for (int i = 0; i < kLooksMax; ++i) {
    SLUICE_LET(pages, read_meta_pages(fd, page_bytes_of(env)));
    if (are_in_turn(pages)) return {};
  }
  return {Code::corrupt, "the two meta pages do not belong together"};
}

}  // namespace sluice::kv
