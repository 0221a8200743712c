// SPDX-License-Identifier: MIT
#include "codec/percent.h"

#include <gtest/gtest.h>

namespace sluice::codec {
namespace {

TEST(Percent, every_byte_goes_there_and_back) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a b/c~\xff"), "a%20b%2Fc~%FF");
}

TEST(Percent, digits_may_be_small) {
  EXPECT_EQ(percent_decode("%2f%2F+"), "//+");
}

TEST(Percent, half_an_escape_is_refused) {
  for (const char* bad : {"%", "%2", "a%", "%2g", "%g2", "%%20", "% 2"})
    EXPECT_FALSE(percent_decode(bad)) << bad;
  EXPECT_EQ(percent_decode("%20"), " ");
}

}  // namespace
}  // namespace sluice::codec
