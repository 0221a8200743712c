// SPDX-License-Identifier: MIT
// Deliberate bugs, to prove that the tests notice them. `mutant("kv.no_sync")` is true only in the
// `mutant` build and only while the environment names it: SLUICE_MUTANT=kv.no_sync. Every other
// build compiles it to false. tests/mutants.py lists each mutant with the test that must fail.
#pragma once

#include <string_view>

namespace sluice {

#if defined(SLUICE_MUTANTS)
bool mutant(std::string_view name);
#else
constexpr bool mutant(std::string_view) {
  return false;
}
#endif

}  // namespace sluice
