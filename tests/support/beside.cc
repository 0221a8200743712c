// SPDX-License-Identifier: MIT
#include "tests/support/beside.h"

#include <filesystem>

namespace sluice::test {

std::string beside_this_program(std::string_view name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

}  // namespace sluice::test
