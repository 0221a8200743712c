// SPDX-License-Identifier: MIT
#include "codec/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace sluice::codec {
namespace {

struct KnownChecksum {
  std::string bytes;
  std::uint32_t checksum;
};

std::string counting_up(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

/// The check value of the algorithm, and the vectors of RFC 3720, appendix B.4.
std::vector<KnownChecksum> known_checksums() {
  return {
      {"", 0x00000000},
      {"123456789", 0xe3069283},
      {std::string(32, '\0'), 0x8a9136aa},
      {std::string(32, '\xff'), 0x62a8ab43},
      {counting_up(32), 0x46dd794e},
  };
}

TEST(Crc32c, known_vectors_have_their_published_checksums) {
  for (const KnownChecksum& known : known_checksums()) {
    EXPECT_EQ(crc32c(known.bytes), known.checksum);
    EXPECT_EQ(crc32c_by::tables(known.bytes), known.checksum);
  }
}

TEST(Crc32c, hardware_agrees_with_tables_at_every_length_and_alignment) {
  if (!crc32c_by::hardware_is_there()) GTEST_SKIP() << "no SSE 4.2 on this machine";
  const std::string bytes = counting_up(300);
  for (std::size_t from = 0; from < 16; ++from)
    for (std::size_t length = 0; from + length <= bytes.size(); ++length) {
      const auto part = std::string_view(bytes).substr(from, length);
      ASSERT_EQ(crc32c_by::hardware(part, 7), crc32c_by::tables(part, 7)) << from << " " << length;
    }
}

RC_GTEST_PROP(Crc32c, hardware_agrees_with_tables, (const std::string& bytes, std::uint32_t seed)) {
  RC_PRE(crc32c_by::hardware_is_there());
  RC_ASSERT(crc32c_by::hardware(bytes, seed) == crc32c_by::tables(bytes, seed));
}

RC_GTEST_PROP(Crc32c, a_checksum_can_be_taken_in_parts,
              (const std::string& a, const std::string& b)) {
  RC_ASSERT(crc32c(b, crc32c(a)) == crc32c(a + b));
  RC_ASSERT(crc32c_by::tables(b, crc32c_by::tables(a)) == crc32c_by::tables(a + b));
}

}  // namespace
}  // namespace sluice::codec
