// SPDX-License-Identifier: MIT
// bench_runtime: the parts for work inside one process, each beside a peer or a bare equivalent.
#include "runtime_parts.h"

namespace sluice::bench {
namespace {

constexpr NamedPart kParts[] = {
    {"ready", measure_ready}, {"scheduled", measure_scheduled}, {"guards", measure_guards}};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  return run({.name = "runtime",
              .parts = kParts,
              .quick_note = "Quick: a fifth of the operations; the backlogs are the same."},
             {argv + 1, argv + argc});
}
