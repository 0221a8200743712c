// SPDX-License-Identifier: MIT
// The names of one directory, or a part of them, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "migrate/entry.h"

namespace sluice::migrate {

/// Entries in a row, their names and targets in blocks of memory that stay where they are, so that
/// adding one costs no allocation of its own, and looking at one no copy. One thread.
class Listing {
 public:
  /// Of a name, or of a target.
  static constexpr std::size_t kTextBytesMax = 32 * 1024;

  Listing() = default;
  Listing(Listing&&) = default;
  Listing& operator=(Listing&&) = default;

  /// Copies the name and the target, each at most kTextBytesMax long (checked).
  void add(const Entry& entry);
  /// By name, as unsigned bytes. Names are unique in a directory, so the order is total.
  void sort();
  void clear();  ///< Keeps the memory for the next directory.

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// It lives until the listing changes.
  const Entry& at(std::size_t index) const;
  /// What it holds of memory, about.
  std::size_t bytes() const {
    return text_bytes_ + entries_.size() * (sizeof(Entry) + sizeof(Place));
  }

 private:
  static constexpr std::size_t kBlockBytes = kTextBytesMax;

  // Where an entry stands in the order. Nearly all comparisons end at the first bytes of the names,
  // so those are at hand, and it is these that are moved about, not the entries.
  struct Place {
    std::uint64_t name_first = 0;
    std::uint32_t entry = 0;
  };

  std::string_view keep(std::string_view text);

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_ = 0;  // Of blocks_: the one that has room.
  std::size_t used_ = 0;   // Of that block.
  std::size_t text_bytes_ = 0;
  std::vector<Entry> entries_;
  std::vector<Place> places_;
};

}  // namespace sluice::migrate
