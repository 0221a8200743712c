// SPDX-License-Identifier: MIT
// The first two pages of a data file, of which one says where everything is. Commits write them in
// turn; the one with the larger transaction number counts.
#pragma once

#include <lmdb.h>
#include <sluice/result.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::kv {

/// As LMDB 0.9 has it: a header of 16 bytes, then MDB_meta.
struct MetaPage {
  static constexpr std::uint32_t kMagic = 0xBEEFC0DE;
  static constexpr std::uint32_t kVersion = 1;

  std::uint64_t page_number;
  std::uint64_t page_flags;
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t address;
  std::uint64_t map_bytes;
  std::array<std::uint64_t, 12> databases;
  std::uint64_t last_page;
  std::uint64_t transaction;
};
static_assert(sizeof(MetaPage) == 152, "LMDB's layout has no gaps");

using MetaPages = std::array<MetaPage, 2>;

std::size_t page_bytes_of(MDB_env* env);
Result<MetaPages> read_meta_pages(int fd, std::size_t page_bytes);

/// `corrupt` if the numbers of the two are not those of commits in turn: LMDB would believe the
/// larger one, and the latest commits would be gone without a word. Others may be writing.
Status check_meta_pages(MDB_env* env);

}  // namespace sluice::kv
