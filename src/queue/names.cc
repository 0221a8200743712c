// SPDX-License-Identifier: MIT
#include "queue/names.h"

#include <fmt/format.h>
#include <sluice/job.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "codec/sha256.h"

namespace sluice::queue {
namespace {

/// The length of the character that begins at `at`, or 0 if there is none that is well formed.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second > 0x9f;
  const bool beyond = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : size;
}

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  // Most names are plain letters: eight at once.
  for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & 0x8080808080808080) != 0) break;
  }
  while (at < text.size()) {
    const std::size_t size = character_bytes(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

}  // namespace

Status check_name_or_empty(std::string_view what, std::string_view name) {
  if (name.size() > kNameBytesMax)
    return error(Code::invalid_argument, fmt::format("the {} has {} bytes: {} is the most", what,
                                                     name.size(), kNameBytesMax));
  if (!is_utf8(name))
    return error(Code::invalid_argument, fmt::format("the {} is not UTF-8: encode it", what));
  return {};
}

Status check_name(std::string_view what, std::string_view name) {
  if (name.empty())
    return error(Code::invalid_argument,
                 fmt::format("the {} is empty: give 1 to {} bytes", what, kNameBytesMax));
  return check_name_or_empty(what, name);
}

Bytes16 hash_of(std::string_view name) {
  const auto digest = codec::sha256(name);
  Bytes16 hash;
  std::copy_n(digest.begin(), Bytes16::kSize, hash.bytes.begin());
  return hash;
}

std::string_view cut_text(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string ulid(std::uint64_t ms, std::uint16_t high, std::uint64_t low) {
  static constexpr char kAlphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string text(26, '0');
  // 80 random bits: 16 characters of 5 bits, the last 12 of them and 4 bits more from `low`.
  unsigned __int128 random = static_cast<unsigned __int128>(high) << 64 | low;
  for (std::size_t i = 26; i-- > 10; random >>= 5)
    text[i] = kAlphabet[static_cast<unsigned>(random & 31)];
  for (std::size_t i = 10; i-- > 0; ms >>= 5) text[i] = kAlphabet[ms & 31];
  return text;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace sluice::queue
