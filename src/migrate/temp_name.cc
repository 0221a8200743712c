// SPDX-License-Identifier: MIT
#include "migrate/temp_name.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.h"
#include "migrate/folder_page.h"
#include "migrate/system_call.h"

namespace sluice::migrate {
namespace {

constexpr std::string_view kSuffix = ".tmp";
constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string temp_name(std::string_view tag, std::string_view name) {
  // The hash of one is the seed of the other: no pair of texts runs together like another pair.
  const XXH64_hash_t seed = XXH3_64bits(tag.data(), tag.size());
  XXH64_hash_t hash = XXH3_64bits_withSeed(name.data(), name.size(), seed);
  std::string temp(kTempPrefix.size() + 16 + kSuffix.size(), '\0');
  std::ranges::copy(kTempPrefix, temp.begin());
  for (std::size_t at = kTempPrefix.size() + 16; at-- > kTempPrefix.size(); hash >>= 4)
    temp[at] = kHexDigits[hash & 15];
  std::ranges::copy(kSuffix, temp.end() - static_cast<std::ptrdiff_t>(kSuffix.size()));
  return temp;
}

bool is_temp_name(std::string_view name) {
  return name.size() == kTempPrefix.size() + 16 + kSuffix.size() && name.starts_with(kTempPrefix) &&
         name.ends_with(kSuffix) &&
         name.substr(kTempPrefix.size(), 16).find_first_not_of(kHexDigits) == name.npos;
}

tl::expected<std::uint64_t, int> clean_temps(int folder) {
  const Descriptor own(
      retried([&] { return openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!own.valid()) return tl::unexpected(errno);
  FolderPage page;
  std::uint64_t removed = 0;
  while (true) {
    if (const int error = page.read(own.get()); error != 0) return tl::unexpected(error);
    if (page.empty()) return removed;
    int error = 0;
    page.each([&](const dirent64& entry) {
      if (!is_temp_name(entry.d_name) || error != 0) return;
      if (retried([&] { return unlinkat(own.get(), entry.d_name, 0); }) == 0) {
        ++removed;
      } else if (errno != EISDIR && errno != ENOENT) {
        error = errno;
      }
    });
    if (error != 0) return tl::unexpected(error);
  }
}

}  // namespace sluice::migrate
