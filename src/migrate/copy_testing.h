// SPDX-License-Identifier: MIT
// What the tests of copying share.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "migrate/copy_file.h"
#include "migrate/entry.h"
#include "tests/support/temp_dir.h"

namespace sluice::migrate::testing {

/// An entry with the memory that its views point to.
class Known {
 public:
  /// What stands there now, as a listing would say.
  Known(int folder, std::string_view name);
  Entry entry() const;
  Entry changed(const std::function<void(Entry&)>& change) const;

 private:
  std::string name_;
  std::string target_;
  Entry entry_;
};

/// An empty folder per side.
struct TwoTrees {
  explicit TwoTrees(test::Place place = test::Place::memory);

  std::string src_path(std::string_view name) const { return dir / ("src/" + std::string(name)); }
  std::string dst_path(std::string_view name) const { return dir / ("dst/" + std::string(name)); }
  /// A file on the source, with a time in the past and odd nanoseconds.
  void write_src(std::string_view name, const std::string& bytes) const;
  void write_dst(std::string_view name, const std::string& bytes) const;
  Known src_known(std::string_view name) const { return Known(src.get(), name); }
  Known dst_known(std::string_view name) const { return Known(dst.get(), name); }

  /// copy_file(), copy_link() or copy_special() of what is on the source now.
  CopyResult<Copied> copy(std::string_view name, const CopyRules& rules = {}) const;
  CopyResult<Copied> copy(const Entry& wanted, const Entry* replaced, const CopyRules& rules) const;

  test::TempDir dir;
  Descriptor src;
  Descriptor dst;
};

/// Every way to move and to place a content.
std::vector<CopyRules> all_ways();

/// Sorted, without "." and "..".
std::vector<std::string> names_in(const std::string& folder);
struct stat stat_of(const std::string& path);
std::string random_bytes(std::size_t size, std::uint64_t seed);
/// "io ENOSPC write"; "ok" if there is a value.
template <class T>
std::string outcome(const CopyResult<T>& result) {
  return result ? "ok" : std::string(why_name(result.error().why));
}
/// Every extended attribute, "name=value" in a row, sorted by name.
std::string xattrs_of(const std::string& path);
/// The value of an ACL with one user in it besides the usual three.
std::string acl_with_user(std::uint32_t uid);

/// What `body` returns in a process of its own, which may change its user, its mounts or its system
/// calls; "died" if it did not end by itself.
std::string run_apart(const std::function<std::string()>& body);
/// In such a process: puts an empty tmpfs at `path`; why not, if that is not possible.
std::string mount_tmpfs(const std::string& path, const char* options);

}  // namespace sluice::migrate::testing
