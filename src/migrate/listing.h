// SPDX-License-Identifier: MIT
// The names of one directory, or a part of them, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/entry.h"

namespace sluice::migrate {

/// Entries in a row, their names and targets in one piece of memory, so that adding one costs no
/// allocation of its own. One thread.
class Listing {
 public:
  /// Copies the name and the target, which must not point into this listing. The names and targets
  /// of a listing are at most 4 GiB together (checked).
  void add(const Entry& entry);
  /// By name, as unsigned bytes. Names are unique in a directory, so the order is total.
  void sort();
  void clear();  ///< Keeps the memory for the next directory.

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  /// The bytes point into this listing and live until it changes.
  Entry at(std::size_t index) const;
  /// What it holds of memory, about.
  std::size_t bytes() const { return text_.size() + rows_.size() * (sizeof(Row) + sizeof(Place)); }

 private:
  struct Row {
    Entry entry;  // Its views are empty: where they point to is below.
    std::uint32_t name_at = 0;
    std::uint32_t name_bytes = 0;
    std::uint32_t target_at = 0;
    std::uint32_t target_bytes = 0;
  };

  // Where an entry stands in the order. Nearly all comparisons end at the first bytes of the names,
  // so those are at hand, and it is these that are moved about, not the rows.
  struct Place {
    std::uint64_t name_first = 0;
    std::uint32_t row = 0;
  };

  std::string_view name(const Row& row) const {
    return std::string_view(text_).substr(row.name_at, row.name_bytes);
  }

  std::string text_;
  std::vector<Row> rows_;
  std::vector<Place> places_;
};

}  // namespace sluice::migrate
