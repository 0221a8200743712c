// SPDX-License-Identifier: MIT
// The programs that the tests start.
#pragma once

#include <string>

#include "tests/support/beside.h"

namespace sluice::test {

inline std::string actor_path() {
  return beside_this_program("kv_actor");
}
inline std::string recorder_path() {
  return beside_this_program("libio_recorder.so");
}

}  // namespace sluice::test
