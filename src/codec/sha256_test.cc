// SPDX-License-Identifier: MIT
#include "codec/sha256.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <string>

namespace sluice::codec {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const std::uint8_t byte : sha256(bytes)) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST(Sha256, the_examples_of_the_standard) {
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, every_length_around_the_blocks_as_another_implementation_has_it) {
  for (std::size_t length = 0; length <= 300; ++length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(i * 7 + length);
    std::array<std::uint8_t, 32> expected{};
    ASSERT_EQ(EVP_Digest(text.data(), text.size(), expected.data(), nullptr, EVP_sha256(), nullptr),
              1);
    EXPECT_EQ(sha256(text), expected) << length;
  }
}

}  // namespace
}  // namespace sluice::codec
