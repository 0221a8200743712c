// SPDX-License-Identifier: MIT
// What the tests of trees share.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "migrate/tree.h"

namespace sluice::migrate::testing {

/// A whole directory, sorted.
struct Listed {
  Fault fault;
  Listing all;
  std::size_t pages = 0;
  std::size_t page_bytes_max = 0;
  std::size_t page_entries_max = 0;

  std::optional<Entry> find(std::string_view name) const;
  /// Not there: an entry without a name.
  Entry at(std::string_view name) const { return find(name).value_or(Entry{}); }
};

/// `between` is called with the number of each page, from 1, when the page has been taken.
Listed list_all(Tree& tree, std::string_view path,
                const std::function<void(std::size_t)>& between = nullptr,
                const FolderStamp& seen = {});

/// What `body` returns in a process of its own, which may change its user or its mounts; "died" if
/// it did not end by itself.
std::string in_child(const std::function<std::string()>& body);

}  // namespace sluice::migrate::testing
