// SPDX-License-Identifier: MIT
#include "tests/support/temp_dir.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace sluice::test {
namespace {

std::string parent_of(Place place) {
  if (place == Place::memory && access("/dev/shm", W_OK) == 0) return "/dev/shm";
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr ? chosen : "/var/tmp";
}

}  // namespace

TempDir::TempDir(Place place) : path_(parent_of(place) + "/sluice-test-XXXXXX") {
  SLUICE_CHECK(mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string all;
  for (char piece[65536]; file.read(piece, sizeof piece), file.gcount() > 0;)
    all.append(piece, static_cast<std::size_t>(file.gcount()));
  return all;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace sluice::test
