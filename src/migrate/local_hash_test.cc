// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <array>
#include <filesystem>

#include "migrate/local_tree.h"
#include "migrate/testing.h"
#include "tests/support/temp_dir.h"

namespace sluice::migrate {
namespace {

using test::TempDir;
using testing::list_all;
using testing::Listed;
namespace fs = std::filesystem;

Hash hash_of(const std::string& bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return std::to_array(canonical.digest);
}

std::string some_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<char>(at * at / 7);
  return bytes;
}

TEST(LocalHash, is_that_of_the_content) {
  const TempDir dir;
  fs::create_directory(dir / "folder");
  const auto tree = open_local_tree({.root = dir.path()}).value();
  // Around the buffer's end, and several times its size.
  for (const std::size_t size : {0u, 1u, 262'143u, 262'144u, 262'145u, 1'000'000u}) {
    const std::string bytes = some_bytes(size);
    test::write_file(dir / "folder/file", bytes);
    const Listed listed = list_all(*tree, "folder");
    Hash hash{};
    EXPECT_TRUE(tree->hash("folder", listed.at("file"), hash).ok()) << size;
    EXPECT_EQ(hash, hash_of(bytes)) << size;
  }
}

TEST(LocalHash, is_in_the_byte_order_that_others_print) {
  const TempDir dir;
  test::write_file(dir / "empty", "");
  const auto tree = open_local_tree({.root = dir.path()}).value();
  const Listed listed = list_all(*tree, "");
  Hash hash{};
  ASSERT_TRUE(tree->hash("", listed.at("empty"), hash).ok());
  // XXH3-128 of nothing, as xxh128sum prints it.
  EXPECT_EQ(hash, (Hash{0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8, 0x60, 0x01, 0xc3, 0x24,
                        0x46, 0x8d, 0x49, 0x7f}));
}

TEST(LocalHash, of_another_file_than_expected_is_refused) {
  const TempDir dir;
  test::write_file(dir / "file", "content");
  const auto tree = open_local_tree({.root = dir.path()}).value();
  const Listed listed = list_all(*tree, "");
  const Entry entry = listed.at("file");
  Hash hash{};
  EXPECT_TRUE(tree->hash("", entry, hash).ok());
  Entry longer = entry;
  longer.size = 8;
  EXPECT_TRUE(tree->hash("", longer, hash).changed);
  Entry newer = entry;
  newer.mtime_ns += 1;
  EXPECT_TRUE(tree->hash("", newer, hash).changed);
  Entry folder = entry;
  folder.kind = Kind::folder;
  EXPECT_TRUE(tree->hash("", folder, hash).changed);
}

TEST(LocalHash, never_waits_for_what_took_the_files_place) {
  const TempDir dir;
  test::write_file(dir / "file", "");
  const auto tree = open_local_tree({.root = dir.path()}).value();
  const Listed listed = list_all(*tree, "");
  Hash hash{};
  fs::remove(dir / "file");
  EXPECT_EQ(tree->hash("", listed.at("file"), hash).error, ENOENT);
  ASSERT_EQ(::mkfifo((dir / "file").c_str(), 0600), 0);
  EXPECT_TRUE(tree->hash("", listed.at("file"), hash).changed);
  fs::remove(dir / "file");
  fs::create_symlink("elsewhere", dir / "file");
  EXPECT_TRUE(tree->hash("", listed.at("file"), hash).changed);
  fs::remove(dir / "file");
  fs::create_directory(dir / "file");
  EXPECT_TRUE(tree->hash("", listed.at("file"), hash).changed);
}

}  // namespace
}  // namespace sluice::migrate
