// SPDX-License-Identifier: MIT
#include "tracker/hash_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "tracker/whole_file.h"

namespace sluice::tracker {
namespace {

/// -1 if it is none.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string_view without_comment(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  line = line.substr(0, line.find('#'));
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  return line.substr(0, line.find_last_not_of(kSpace) + 1);
}

}  // namespace

Result<InfoHash> parse_hash(std::string_view digits) {
  const auto is_digit = [](char c) { return digit_of(c) >= 0; };
  if (digits.size() != 2 * kHashBytes || !std::ranges::all_of(digits, is_digit))
    return error(Code::invalid_argument, "a hash is 40 hexadecimal digits");
  InfoHash hash;
  for (std::size_t i = 0; i < kHashBytes; ++i)
    hash.bytes[i] =
        static_cast<std::uint8_t>(digit_of(digits[2 * i]) << 4 | digit_of(digits[2 * i + 1]));
  return hash;
}

std::string to_hex(const InfoHash& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : hash.bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

Result<HashList> HashList::parse(std::string_view text, std::string_view name) {
  HashList list;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const auto hash = parse_hash(line);
    if (!hash) return Failure{hash.error().with(fmt::format("{}, line {}", name, number))};
    list.hashes_.push_back(*hash);
  }
  std::ranges::sort(list.hashes_);
  const auto doubles = std::ranges::unique(list.hashes_);
  list.hashes_.erase(doubles.begin(), doubles.end());
  list.hashes_.shrink_to_fit();
  return list;
}

Result<HashList> HashList::read(const std::string& path) {
  SLUICE_LET(text, whole_file(path, "the list of hashes"));
  return parse(text, path);
}

bool HashList::contains(const InfoHash& hash) const {
  return std::ranges::binary_search(hashes_, hash);
}

}  // namespace sluice::tracker
