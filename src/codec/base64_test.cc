// SPDX-License-Identifier: MIT
#include "codec/base64.h"

#include <gtest/gtest.h>

namespace sluice::codec {
namespace {

TEST(Base64, has_the_examples_of_rfc_4648) {
  const std::pair<std::string_view, std::string_view> examples[] = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, every_byte_goes_there_and_back) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST(Base64, what_has_another_form_is_refused) {
  for (const char* bad : {"Zg", "Zg=", "Zh==", "Zm9=", "Zm9v\n", "Zm 9",
                          "====", "=Zg=", "Z===", "Zg==Zg==", "Zm-_", "Z\xc3\xa4v"})
    EXPECT_FALSE(from_base64(bad)) << bad;
}

}  // namespace
}  // namespace sluice::codec
