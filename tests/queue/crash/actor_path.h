// SPDX-License-Identifier: MIT
// The program that the tests start.
#pragma once

#include <string>

#include "tests/support/beside.h"

namespace sluice::test {

inline std::string actor_path() {
  return beside_this_program("queue_actor");
}

}  // namespace sluice::test
