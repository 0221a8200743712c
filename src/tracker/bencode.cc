// SPDX-License-Identifier: MIT
#include "tracker/bencode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/check.h"

namespace sluice::tracker::bencode {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The string that a good text begins with, which is taken from it.
std::string_view take_string(std::string_view& rest) {
  std::size_t bytes = 0;
  const char* const colon = std::from_chars(rest.data(), rest.data() + rest.size(), bytes).ptr;
  const std::size_t begin = static_cast<std::size_t>(colon - rest.data()) + 1;
  const std::string_view string = rest.substr(begin, bytes);
  rest.remove_prefix(begin + bytes);
  return string;
}

/// The value that a good text begins with, which is taken from it.
std::string_view take_value(std::string_view& rest) {
  const std::string_view all = rest;
  std::size_t depth = 0;
  do {
    const char first = rest.front();
    if (is_digit(first)) {
      take_string(rest);
      continue;
    }
    rest.remove_prefix(first == 'i' ? rest.find('e') + 1 : 1);
    if (first == 'l' || first == 'd') ++depth;
    if (first == 'e') --depth;
  } while (depth > 0);
  return all.substr(0, all.size() - rest.size());
}

/// `rest` begins with the first key of a good dictionary.
bool has_key_twice(std::string_view rest) {
  std::vector<std::string_view> keys;
  while (rest.front() != 'e') {
    keys.push_back(take_string(rest));
    take_value(rest);
  }
  std::ranges::sort(keys);
  return std::ranges::adjacent_find(keys) != keys.end();
}

/// Reads a text that nobody has looked at yet. Of a function that returns false, problem() says why
/// and at() says where.
class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  bool value(std::size_t depth);
  bool is_at_end() const { return at_ == text_.size(); }
  std::size_t at() const { return at_; }
  const char* problem() const { return problem_; }

 private:
  bool fail(const char* problem) {
    problem_ = problem;
    return false;
  }
  bool integer();
  bool string(std::string_view& content);
  bool list(std::size_t depth);
  bool dict(std::size_t depth);
  bool take(char c) {
    if (is_at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const char* problem_ = "";
};

bool Checker::value(std::size_t depth) {
  if (is_at_end()) return fail("a value is missing");
  const char first = text_[at_];
  std::string_view content;
  if (is_digit(first)) return string(content);
  if (first == 'i') return integer();
  if (first != 'l' && first != 'd') return fail("a value begins with i, l, d or a digit");
  if (depth == kDepthMax) return fail("too many lists and dictionaries are open");
  return first == 'l' ? list(depth + 1) : dict(depth + 1);
}

bool Checker::integer() {
  ++at_;
  const char* const begin = text_.data() + at_;
  const char* const digits = begin + (!is_at_end() && *begin == '-' ? 1 : 0);
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (problem != std::errc()) return fail("not an integer of 64 bits");
  if (*digits == '0' && (end - digits > 1 || digits != begin)) return fail("a leading zero");
  at_ += static_cast<std::size_t>(end - begin);
  return take('e') || fail("an integer does not end with e");
}

bool Checker::string(std::string_view& content) {
  if (is_at_end() || !is_digit(text_[at_])) return fail("a key is missing");
  if (text_[at_] == '0' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))
    return fail("a leading zero");
  std::size_t bytes = 0;
  std::size_t at = at_;
  for (; at < text_.size() && is_digit(text_[at]); ++at) {
    bytes = bytes * 10 + static_cast<std::size_t>(text_[at] - '0');
    if (bytes > text_.size()) return fail("a length goes past the end");
  }
  if (at == text_.size() || text_[at] != ':') return fail("a length does not end with a colon");
  ++at;
  if (bytes > text_.size() - at) return fail("a length goes past the end");
  content = text_.substr(at, bytes);
  at_ = at + bytes;
  return true;
}

bool Checker::list(std::size_t depth) {
  for (++at_; !take('e');)
    if (!value(depth)) return false;
  return true;
}

bool Checker::dict(std::size_t depth) {
  const std::size_t begin = ++at_;
  bool in_order = true;
  std::string_view last;
  while (!take('e')) {
    const bool is_first = at_ == begin;
    std::string_view key;
    if (!string(key)) return false;
    in_order = in_order && (is_first || last < key);
    last = key;
    if (!value(depth)) return false;
  }
  if (!in_order && has_key_twice(text_.substr(begin)))
    return fail("a key stands twice before here");
  return true;
}

}  // namespace

Kind View::kind() const {
  switch (text_.front()) {
    case 'i':
      return Kind::integer;
    case 'l':
      return Kind::list;
    case 'd':
      return Kind::dict;
    default:
      return Kind::string;
  }
}

std::optional<std::int64_t> View::integer() const {
  if (kind() != Kind::integer) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(text_.data() + 1, text_.data() + text_.size(), number);
  return number;
}

std::optional<std::string_view> View::string() const {
  if (kind() != Kind::string) return std::nullopt;
  std::string_view rest = text_;
  return take_string(rest);
}

std::optional<View> View::find(std::string_view key) const {
  if (kind() != Kind::dict) return std::nullopt;
  Entries members = entries();
  while (const auto member = members.next())
    if (member->key == key) return member->value;
  return std::nullopt;
}

Entries View::entries() const {
  const bool is_dict = kind() == Kind::dict;
  if (!is_dict && kind() != Kind::list) return {{}, false};
  return {text_.substr(1), is_dict};
}

std::optional<Entry> Entries::next() {
  if (rest_.empty() || rest_.front() == 'e') return std::nullopt;
  const std::string_view key = has_keys_ ? take_string(rest_) : std::string_view();
  return Entry{key, View(take_value(rest_))};
}

Result<View> read(std::string_view text) {
  Checker checker(text);
  if (!checker.value(0))
    return error(Code::invalid_argument,
                 fmt::format("byte {}: {}", checker.at(), checker.problem()));
  if (!checker.is_at_end())
    return error(Code::invalid_argument,
                 fmt::format("byte {}: something follows the value", checker.at()));
  return View(text);
}

Writer& Writer::dict() {
  open(true);
  return *this;
}

Writer& Writer::list() {
  open(false);
  return *this;
}

Writer& Writer::end() {
  SLUICE_CHECK(depth_ > 0 && !levels_[depth_ - 1].has_key);
  --depth_;
  out_ += 'e';
  return *this;
}

Writer& Writer::key(std::string_view key) {
  SLUICE_CHECK(depth_ > 0);
  Level& level = levels_[depth_ - 1];
  SLUICE_CHECK(level.is_dict && !level.has_key);
  const std::string_view last = std::string_view(out_).substr(level.key_begin, level.key_bytes);
  SLUICE_CHECK(level.key_begin == 0 || last < key);
  append(key);
  level.has_key = true;
  level.key_begin = out_.size() - key.size();
  level.key_bytes = key.size();
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  begin_value();
  char digits[20];
  char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out_ += 'i';
  out_.append(digits, end);
  out_ += 'e';
  return *this;
}

Writer& Writer::string(std::string_view value) {
  begin_value();
  append(value);
  return *this;
}

void Writer::open(bool is_dict) {
  begin_value();
  SLUICE_CHECK(depth_ < kDepthMax);
  levels_[depth_++] = {.is_dict = is_dict};
  out_ += is_dict ? 'd' : 'l';
}

void Writer::begin_value() {
  if (depth_ == 0 || !levels_[depth_ - 1].is_dict) return;
  SLUICE_CHECK(levels_[depth_ - 1].has_key);
  levels_[depth_ - 1].has_key = false;
}

void Writer::append(std::string_view string) {
  char digits[20];
  char* const end = std::to_chars(digits, digits + sizeof digits, string.size()).ptr;
  out_.append(digits, end);
  out_ += ':';
  out_ += string;
}

}  // namespace sluice::tracker::bencode
