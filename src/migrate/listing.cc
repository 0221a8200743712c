// SPDX-License-Identifier: MIT
#include "migrate/listing.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace sluice::migrate {
namespace {

/// The first bytes of a name as a number that sorts as they do. A name that ends early is filled up
/// with zeros, so equal numbers say nothing yet.
std::uint64_t first_bytes(std::string_view name) {
  std::uint64_t number = 0;
  name.copy(reinterpret_cast<char*>(&number), sizeof number);
  return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
}

}  // namespace

std::string_view Listing::keep(std::string_view text) {
  if (text.empty()) return {};
  SLUICE_CHECK(text.size() <= kBlockBytes);
  if (!blocks_.empty() && text.size() > kBlockBytes - used_) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size())
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlockBytes));
  char* kept = blocks_[block_].get() + used_;
  std::memcpy(kept, text.data(), text.size());
  used_ += text.size();
  text_bytes_ += text.size();
  return {kept, text.size()};
}

void Listing::add(const Entry& entry) {
  places_.push_back({.name_first = first_bytes(entry.name),
                     .entry = static_cast<std::uint32_t>(entries_.size())});
  Entry& added = entries_.emplace_back(entry);
  added.name = keep(entry.name);
  added.target = keep(entry.target);
}

void Listing::sort() {
  std::ranges::sort(places_, [this](const Place& a, const Place& b) {
    if (a.name_first != b.name_first) return a.name_first < b.name_first;
    return entries_[a.entry].name < entries_[b.entry].name;
  });
}

void Listing::clear() {
  block_ = used_ = text_bytes_ = 0;
  entries_.clear();
  places_.clear();
}

const Entry& Listing::at(std::size_t index) const {
  SLUICE_CHECK(index < places_.size());
  return entries_[places_[index].entry];
}

}  // namespace sluice::migrate
