// SPDX-License-Identifier: MIT
// The one file that is compiled with the path of the sources: SLUICE_DOCS. Every other file
// compiles to the same object wherever the sources lie, so that clones share a compiler cache.
#include "tests/support/documents.h"

#include "base/check.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

std::string read_document(std::string_view name) {
  std::string text = read_file(std::string(SLUICE_DOCS "/").append(name));
  SLUICE_CHECK(!text.empty());
  return text;
}

}  // namespace sluice::test
