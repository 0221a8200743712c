// SPDX-License-Identifier: MIT
// bench_tracker: the parts of a tracker.
#include "tracker_parts.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {{"swarms", measure_swarms}};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  return run({.name = "tracker",
              .parts = kParts,
              .quick_note = "Quick: a fifth of the announces; the swarms are the same."},
             {argv + 1, argv + argc});
}
