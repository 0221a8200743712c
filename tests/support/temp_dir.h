// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace sluice::test {

/// `memory` is /dev/shm where that is writable: syncs cost nothing there. `disk` is TMPDIR or
/// /var/tmp.
enum class Place : std::uint8_t { memory, disk };

/// A new directory of this test's own, removed with all that is in it.
class TempDir {
 public:
  explicit TempDir(Place place = Place::memory);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The whole file; empty if it cannot be read.
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace sluice::test
