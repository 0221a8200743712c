// SPDX-License-Identifier: MIT
#include "base/mutant.h"

#if defined(SLUICE_MUTANTS)
#include <cstdlib>

namespace sluice {

bool mutant(std::string_view name) {
  static const char* const chosen = std::getenv("SLUICE_MUTANT");
  return chosen != nullptr && name == chosen;
}

}  // namespace sluice
#endif
