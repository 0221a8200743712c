// SPDX-License-Identifier: MIT
// The nodes of a made-up tree. Everything about one is a function of the seed, the world and its
// path, so that there is nothing to remember, however many there are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "migrate/entry.h"
#include "migrate/sim_spec.h"

namespace sluice::migrate {

/// Well mixed bits of both.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t bits = a ^ (b + 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93u;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93u;
  return bits ^ (bits >> 32);
}

/// Whether something of this probability happens to those bits.
class SimChance {
 public:
  explicit SimChance(double probability)
      : limit_(static_cast<std::uint64_t>(probability * 0x1p53)) {}
  bool hits(std::uint64_t bits) const { return (bits >> 11) < limit_; }
  bool possible() const { return limit_ != 0; }

 private:
  std::uint64_t limit_;
};

/// A folder as its children see it.
struct SimFolder {
  std::uint64_t key = 0;  ///< The same in every world, but for extra nodes.
  std::uint32_t level = 0;
};

/// The longest name: four digits, a dash, a letter, a number, and the NUL.
inline constexpr std::size_t kSimNameBytes = 28;

struct SimNode {
  std::uint64_t key = 0;
  std::uint32_t level = 0;
  Entry entry;  ///< Its views point into this node.
  std::array<char, kSimNameBytes> name;
  std::array<char, 24> target;

  SimNode() = default;
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;
  SimFolder folder() const { return {.key = key, .level = level}; }
};

/// One world. Thread-safe, because it does not change.
class SimModel {
 public:
  explicit SimModel(const SimSpec& spec);

  SimFolder root() const { return {.key = root_}; }
  Entry root_entry() const;

  /// A folder's children are among its slots. Without those that are only in this world, half of
  /// the slots are empty.
  std::uint64_t slots(const SimFolder& folder) const;
  /// The child in this slot; false if the world has none there.
  bool at(const SimFolder& folder, std::uint64_t slot, SimNode& node) const;
  /// The child of this name; false if there is none.
  bool find(const SimFolder& folder, std::string_view name, SimNode& node) const;

  /// Of this node and world, different for every `what`.
  std::uint64_t roll(std::uint64_t key, std::uint64_t what) const { return mix(key ^ salt_, what); }

 private:
  struct Counts {
    std::uint64_t folders;
    std::uint64_t files;
  };
  struct Slot {
    bool folder;
    bool extra;
    std::uint64_t number;
  };
  Counts counts(const SimFolder& folder) const;
  std::uint64_t key_of(const SimFolder& folder, const Slot& slot) const;
  bool make(const SimFolder& folder, const Slot& slot, SimNode& node) const;
  void differ(std::uint64_t bits, SimNode& node) const;
  bool has_extra() const { return other_world_ && extra_.possible(); }

  const SimRange folders_;
  const SimRange files_;
  const std::uint32_t depth_;
  const bool other_world_;
  const SimChance presence_;
  const SimChance differ_;
  const SimChance extra_;
  std::uint64_t root_ = 0;
  std::uint64_t salt_ = 0;
};

}  // namespace sluice::migrate
