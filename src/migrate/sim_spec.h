// SPDX-License-Identifier: MIT
// What a made-up tree is like, as text and as numbers.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "migrate/tree.h"

namespace sluice::migrate {

/// Both are possible.
struct SimRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

struct SimSpec {
  std::uint64_t seed = 1;
  std::string world = "src";
  std::uint32_t depth = 4;
  SimRange folders = {.least = 4, .most = 8};
  SimRange files = {.least = 10, .most = 20};
  double presence = 1;
  double differ = 0;
  double extra = 0;
  Duration latency = Duration(0);
  std::size_t page = kPageEntries;
  double errors = 0;
  std::uint32_t heal = 2;
  double mutate = 0;
};

/// "sim:seed=7,depth=3", the keys that sim_tree.h explains, in any order, each at most once.
/// `invalid_argument` for everything else.
Result<SimSpec> parse_sim_spec(std::string_view text);

/// The same text for all that describe the same nodes: only the keys that decide about those, all
/// of them, in a fixed order.
std::string sim_tree_name(const SimSpec& spec);

}  // namespace sluice::migrate
