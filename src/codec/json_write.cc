// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "codec/json.h"

namespace sluice::codec::json {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::size_t kNumberCharsMax = 32;                // A double needs at most 24.

/// ASCII that stands for itself in a string.
bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

void append_escape(std::string& text, char byte) {
  constexpr std::string_view kBytes = "\"\\\n\r\t\b\f";
  constexpr std::string_view kLetters = "\"\\nrtbf";
  constexpr std::string_view kDigits = "0123456789abcdef";
  text.push_back('\\');
  if (const std::size_t i = kBytes.find(byte); i != kBytes.npos) {
    text.push_back(kLetters[i]);
  } else {
    const auto bits = static_cast<unsigned char>(byte);
    text.append("u00").append({kDigits[bits >> 4], kDigits[bits & 15]});
  }
}

template <class T>
void append_number(std::string& text, T value) {
  char buffer[kNumberCharsMax];
  text.append(buffer, std::to_chars(buffer, buffer + kNumberCharsMax, value).ptr);
}

}  // namespace

const char* Value::kind_name() const {
  constexpr std::array kNames = {"null",     "a boolean", "a number",  "a number",
                                 "a string", "an array",  "an object", "a value"};
  static_assert(kNames.size() == std::variant_size_v<decltype(Value::is)>);
  return kNames[is.index()];
}

const Value* Value::find(std::string_view name) const {
  const Object* members = as<Object>();
  if (!members) return nullptr;
  const auto member = std::ranges::find(*members, name, &Member::name);
  return member == members->end() ? nullptr : &member->value;
}

bool operator==(const Value& a, const Value& b) {
  return a.is == b.is;
}

std::size_t utf8_character_bytes(std::string_view bytes) {
  const auto at = [&](std::size_t i) -> unsigned {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  const unsigned lead = at(0);
  if (lead < 0x80) return bytes.empty() ? 0 : 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte shows the overlong forms (after e0 and f0), the surrogates (after ed) and what
  // lies beyond U+10FFFF (after f4).
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  return size;
}

Writer& Writer::name(std::string_view name) {
  SLUICE_CHECK(open_.ends_with('{') && !named_);
  separate();
  put_quoted(name);
  text_.append(layout_ == Layout::pretty ? ": " : ":");
  named_ = true;
  return *this;
}

Writer& Writer::string(std::string_view bytes) {
  begin_value();
  put_quoted(bytes);
  return *this;
}

Writer& Writer::boolean(bool value) {
  begin_value();
  text_.append(value ? "true" : "false");
  return *this;
}

Writer& Writer::null() {
  begin_value();
  text_.append("null");
  return *this;
}

Writer& Writer::raw(std::string_view text) {
  begin_value();
  text_.append(text);
  return *this;
}

Writer& Writer::value(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return null();
    case Kind::boolean:
      return boolean(std::get<bool>(value.is));
    case Kind::integer:
      return number(std::get<std::int64_t>(value.is));
    case Kind::real:
      return number(std::get<double>(value.is));
    case Kind::string:
      return string(std::get<std::string>(value.is));
    case Kind::array:
      array();
      for (const Value& item : std::get<Array>(value.is)) this->value(item);
      return end_array();
    case Kind::object:
      object();
      for (const Member& member : std::get<Object>(value.is)) name(member.name).value(member.value);
      return end_object();
    case Kind::raw:
      return raw(std::get<Raw>(value.is).text);
  }
  SLUICE_CHECK(false && "a value without a kind");
  return *this;
}

std::string Writer::take() {
  SLUICE_CHECK(open_.empty() && !text_.empty());
  return std::exchange(text_, {});
}

Writer& Writer::begin(char bracket) {
  begin_value();
  text_.push_back(bracket);
  open_.push_back(bracket);
  first_ = true;
  return *this;
}

Writer& Writer::end(char bracket, char closing) {
  SLUICE_CHECK(open_.ends_with(bracket) && !named_);
  open_.pop_back();
  if (!first_) break_line();
  text_.push_back(closing);
  first_ = false;
  return *this;
}

Writer& Writer::put_signed(std::int64_t value) {
  begin_value();
  append_number(text_, value);
  return *this;
}

Writer& Writer::put_unsigned(std::uint64_t value) {
  begin_value();
  append_number(text_, value);
  return *this;
}

Writer& Writer::put_real(double value) {
  SLUICE_CHECK(std::isfinite(value));
  begin_value();
  const std::size_t begin = text_.size();
  append_number(text_, value);
  if (text_.find_first_of(".e", begin) == text_.npos) text_.append(".0");
  return *this;
}

void Writer::begin_value() {
  if (open_.empty()) {
    SLUICE_CHECK(text_.empty());
  } else if (open_.back() == '{') {
    SLUICE_CHECK(named_);
    named_ = false;
  } else {
    separate();
  }
}

void Writer::separate() {
  if (!first_) text_.push_back(',');
  first_ = false;
  break_line();
}

void Writer::break_line() {
  if (layout_ == Layout::pretty) text_.append(1, '\n').append(2 * open_.size(), ' ');
}

void Writer::put_quoted(std::string_view bytes) {
  text_.push_back('"');
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = at;
    while (end < bytes.size() && is_plain(static_cast<unsigned char>(bytes[end]))) ++end;
    text_.append(bytes, at, end - at);
    at = end;
    if (at == bytes.size()) break;
    const std::size_t size = utf8_character_bytes(bytes.substr(at));
    if (size == 1) {
      append_escape(text_, bytes[at]);
    } else {
      text_.append(size == 0 ? kReplacement : bytes.substr(at, size));
    }
    at += std::max<std::size_t>(size, 1);
  }
  text_.push_back('"');
}

std::string to_text(const Value& value, Layout layout) {
  return Writer(layout).value(value).take();
}

}  // namespace sluice::codec::json
