// SPDX-License-Identifier: MIT
// Which entries of a tree are left out.
#pragma once

#include <sluice/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::migrate {

/// Leaves out what matches `glob`, as by fnmatch(3): `*` and `?` match every byte, '/' too. Without
/// a '/' it is held against the name, at every depth; with one, against the path from the root. One
/// that begins with '/' means the path without it: "/cache" is the one in the root only.
struct Filter {
  std::string glob;
};

/// Several filters: what one of them matches is out. Thread-safe, because it does not change.
class Filters {
 public:
  Filters() = default;
  /// `invalid_argument` for a glob that nothing can match: empty, with a NUL, or with a '/' at its
  /// end.
  static Result<Filters> make(const std::vector<Filter>& filters);

  bool empty() const { return names_.empty() && paths_.empty(); }
  /// Whether `path` of matches() is looked at.
  bool need_paths() const { return !paths_.empty(); }
  /// Both end with a NUL; `path` is the path from the root, with the name.
  bool matches(const char* name, const char* path) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::string> paths_;
};

/// Asks about the entries of one directory. A view type: filters and directory must outlive it.
class DirectoryFilter {
 public:
  DirectoryFilter(const Filters& filters, std::string_view directory);
  bool matches(const char* name);

 private:
  const Filters& filters_;
  std::string path_;
  std::size_t prefix_ = 0;
};

}  // namespace sluice::migrate
