// SPDX-License-Identifier: MIT
// Holds the keys in docs/format/migrate.md to what the code does.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "migrate/ledger.h"
#include "tests/support/documents.h"

namespace sluice::migrate {
namespace {

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += text.empty() ? "" : " ";
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

TEST(LedgerDoc, each_example_of_a_key_has_the_bytes_of_the_code) {
  const std::string page = test::read_document("format/migrate.md");
  const std::pair<std::string, std::string> examples[] = {
      {"settings", keys::settings().to_string()},
      {"state", keys::state().to_string()},
      {"directory 7 of the destination", keys::folder(Side::dst, 7).to_string()},
      {"directory 300, pending on the source at level 2",
       keys::pending(Side::src, 2, 300).to_string()},
      {"counter of failed entries of the source at level 2",
       keys::tally({.what = Tally::src, .level = 2, .which = 2}).to_string()},
      {"chunk 1 of generation 2 of directory 7 of the source",
       keys::chunk(Part::src, 7, 2, 1).to_string()},
      {"the files of chunk 3 of directory 7 at level 2",
       keys::work({.pass = Pass::files, .level = 2, .id = 7, .chunk = 3}).to_string()},
      {"exclusion of `cache` in the root", keys::exclusion(kRoot, "cache")},
      {"directory 7 vanished", keys::drop(7).to_string()},
  };
  for (const auto& [name, key] : examples)
    EXPECT_NE(page.find("| " + name + " | `" + hex(key) + "` |"), std::string::npos) << name;
}

}  // namespace
}  // namespace sluice::migrate
