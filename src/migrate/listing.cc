// SPDX-License-Identifier: MIT
#include "migrate/listing.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace sluice::migrate {
namespace {

constexpr std::size_t kTextBytesMax = std::numeric_limits<std::uint32_t>::max();

/// The first bytes of a name as a number that sorts as they do. A name that ends early is filled up
/// with zeros, so equal numbers say nothing yet.
std::uint64_t first_bytes(std::string_view name) {
  std::uint64_t number = 0;
  name.copy(reinterpret_cast<char*>(&number), sizeof number);
  return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
}

}  // namespace

void Listing::add(const Entry& entry) {
  SLUICE_CHECK(entry.name.size() + entry.target.size() <= kTextBytesMax - text_.size());
  Row row{.entry = entry,
          .name_at = static_cast<std::uint32_t>(text_.size()),
          .name_bytes = static_cast<std::uint32_t>(entry.name.size()),
          .target_at = static_cast<std::uint32_t>(text_.size() + entry.name.size()),
          .target_bytes = static_cast<std::uint32_t>(entry.target.size())};
  row.entry.name = {};
  row.entry.target = {};
  places_.push_back(
      {.name_first = first_bytes(entry.name), .row = static_cast<std::uint32_t>(rows_.size())});
  text_.append(entry.name).append(entry.target);
  rows_.push_back(row);
}

void Listing::sort() {
  std::ranges::sort(places_, [this](const Place& a, const Place& b) {
    if (a.name_first != b.name_first) return a.name_first < b.name_first;
    return name(rows_[a.row]) < name(rows_[b.row]);
  });
}

void Listing::clear() {
  text_.clear();
  rows_.clear();
  places_.clear();
}

Entry Listing::at(std::size_t index) const {
  SLUICE_CHECK(index < places_.size());
  const Row& row = rows_[places_[index].row];
  Entry entry = row.entry;
  entry.name = name(row);
  entry.target = std::string_view(text_).substr(row.target_at, row.target_bytes);
  return entry;
}

}  // namespace sluice::migrate
