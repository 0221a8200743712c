// SPDX-License-Identifier: MIT
#include "migrate/sim_model.h"

#include <algorithm>
#include <charconv>

namespace sluice::migrate {
namespace {

// What bits are drawn for.
constexpr std::uint64_t kFolderCount = 1;
constexpr std::uint64_t kFileCount = 2;
constexpr std::uint64_t kAttributes = 3;
constexpr std::uint64_t kSize = 4;
constexpr std::uint64_t kPresence = 5;
constexpr std::uint64_t kDiffer = 6;
constexpr std::uint64_t kDifference = 7;

constexpr std::array<std::uint32_t, 4> kFileModes = {0644, 0644, 0600, 0755};
constexpr std::array<std::uint32_t, 4> kFolderModes = {0755, 0755, 0700, 02775};
constexpr std::int64_t kOldest = 1'400'000'000'000'000'000;
constexpr std::uint64_t kYears = 300'000'000'000'000'000;
constexpr std::string_view kDigits = "0123456789abcdef";

std::uint64_t pick(const SimRange& range, std::uint64_t bits) {
  const std::uint64_t width = range.most - range.least + 1;
  return range.least + static_cast<std::uint64_t>((__uint128_t{bits} * width) >> 64);
}

/// Most are small, few are large: the number of digits is what is even.
std::uint64_t size_of(std::uint64_t key) {
  const std::uint64_t bits = mix(key, kSize);
  return (bits >> 8) & ((std::uint64_t{1} << (bits % 25)) - 1);
}

Kind kind_of(bool folder, std::uint64_t bits) {
  if (folder) return Kind::folder;
  const std::uint64_t of_256 = bits >> 56;
  if (of_256 < 4) return Kind::link;
  return of_256 == 4 ? Kind::fifo : Kind::file;
}

void set_target(std::uint64_t bits, SimNode& node) {
  constexpr std::string_view kStart = "../to/";
  char* end = std::ranges::copy(kStart, node.target.data()).out;
  end = std::to_chars(end, node.target.data() + node.target.size(), bits >> 16, 16).ptr;
  node.entry.target = std::string_view(node.target.data(), end);
}

void set_kind(Kind kind, std::uint64_t bits, SimNode& node) {
  node.entry.kind = kind;
  node.entry.mode = (kind == Kind::folder ? kFolderModes : kFileModes)[bits % 4];
  node.entry.size = kind == Kind::file ? size_of(node.key) : 0;
  node.entry.target = {};
  if (kind != Kind::link) return;
  node.entry.mode = 0777;
  set_target(bits, node);
}

/// The bits in front, so that the order of the slots is not that of the names.
void set_name(std::uint64_t key, char letter, std::uint64_t number, SimNode& node) {
  char* end = node.name.data();
  for (unsigned shift = 60; shift >= 48; shift -= 4) *end++ = kDigits[(key >> shift) & 15];
  *end++ = '-';
  *end++ = letter;
  end = std::to_chars(end, node.name.data() + node.name.size() - 1, number).ptr;
  *end = '\0';
  node.entry.name = std::string_view(node.name.data(), end);
}

}  // namespace

SimModel::SimModel(const SimSpec& spec)
    : folders_(spec.folders),
      files_(spec.files),
      depth_(spec.depth),
      other_world_(spec.world != "src"),
      presence_(spec.presence),
      differ_(spec.differ),
      extra_(spec.extra),
      root_(mix(spec.seed, 0)) {
  for (const char byte : spec.world) salt_ = mix(salt_, static_cast<unsigned char>(byte));
}

Entry SimModel::root_entry() const {
  return {.kind = Kind::folder,
          .mode = 0755,
          .uid = 1000,
          .gid = 1000,
          .mtime_ns = kOldest + static_cast<std::int64_t>(root_ % kYears)};
}

SimModel::Counts SimModel::counts(const SimFolder& folder) const {
  // In a file's place. With as many files as others have, of which some become folders in turn, a
  // world would have far more nodes than src, or no end at all.
  if (folder.level > depth_) return {.folders = 0, .files = mix(folder.key, kFileCount) % 4};
  return {.folders = folder.level < depth_ ? pick(folders_, mix(folder.key, kFolderCount)) : 0,
          .files = pick(files_, mix(folder.key, kFileCount))};
}

std::uint64_t SimModel::slots(const SimFolder& folder) const {
  const Counts count = counts(folder);
  return (count.folders + count.files) * (has_extra() ? 2 : 1);
}

bool SimModel::at(const SimFolder& folder, std::uint64_t slot, SimNode& node) const {
  const Counts count = counts(folder);
  const std::uint64_t all = count.folders + count.files;
  const bool extra = slot >= all;
  const std::uint64_t place = extra ? slot - all : slot;
  const bool is_folder = place < count.folders;
  return make(
      folder,
      {.folder = is_folder, .extra = extra, .number = is_folder ? place : place - count.folders},
      node);
}

bool SimModel::find(const SimFolder& folder, std::string_view name, SimNode& node) const {
  constexpr std::size_t kLetterAt = 5;
  if (name.size() <= kLetterAt + 1) return false;
  const char letter = name[kLetterAt];
  Slot slot{.folder = letter == 'd' || letter == 'D', .extra = letter < 'a', .number = 0};
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kLetterAt + 1, end, slot.number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return false;
  const Counts count = counts(folder);
  if (slot.number >= (slot.folder ? count.folders : count.files)) return false;
  if (slot.extra && !has_extra()) return false;
  return make(folder, slot, node) && node.entry.name == name;
}

std::uint64_t SimModel::key_of(const SimFolder& folder, const Slot& slot) const {
  // What is only in one world has keys that no other world has.
  const std::uint64_t above = slot.extra ? folder.key ^ salt_ : folder.key;
  return mix(above, slot.number * 4 + (slot.folder ? 2 : 0) + (slot.extra ? 1 : 0) + 16);
}

bool SimModel::make(const SimFolder& folder, const Slot& slot, SimNode& node) const {
  const std::uint64_t key = key_of(folder, slot);
  if (slot.extra ? !extra_.hits(roll(key, kPresence))
                 : other_world_ && !presence_.hits(roll(key, kPresence)))
    return false;
  node.key = key;
  node.level = folder.level + 1;
  const std::uint64_t bits = mix(key, kAttributes);
  set_name(key, slot.folder ? (slot.extra ? 'D' : 'd') : (slot.extra ? 'F' : 'f'), slot.number,
           node);
  node.entry.uid = 1000 + static_cast<std::uint32_t>((bits >> 8) % 4);
  node.entry.gid = 1000 + static_cast<std::uint32_t>((bits >> 12) % 2);
  node.entry.mtime_ns = kOldest + static_cast<std::int64_t>((bits >> 3) % kYears);
  node.entry.excluded = false;
  set_kind(kind_of(slot.folder, bits), bits, node);
  if (other_world_ && !slot.extra && folder.level <= depth_ && differ_.hits(roll(key, kDiffer)))
    differ(roll(key, kDifference), node);
  return true;
}

void SimModel::differ(std::uint64_t bits, SimNode& node) const {
  Entry& entry = node.entry;
  const std::uint64_t more = bits >> 8;
  switch (bits % 4) {
    case 0:
      if (entry.kind == Kind::file) entry.size += 1 + more % 4096;
      if (entry.kind == Kind::link) set_target(bits, node);
      if (entry.kind == Kind::file || entry.kind == Kind::link) return;
      [[fallthrough]];
    case 1:
      // Of a second or more, so that no window hides it, and either way.
      entry.mtime_ns += static_cast<std::int64_t>(1'000'000'000 + more % 100'000'000'000'000) *
                        ((bits & 16) != 0 ? 1 : -1);
      return;
    case 2:
      if (entry.kind != Kind::link) {
        entry.mode ^= 040;
        return;
      }
      [[fallthrough]];
    default:
      node.level = depth_ + 1;
      set_kind(entry.kind == Kind::folder ? Kind::file : Kind::folder, bits, node);
  }
}

}  // namespace sluice::migrate
