// SPDX-License-Identifier: MIT
// Random values and random damage: what is written is read back, what is read is written the same,
// and the rest is refused.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "codec/json.h"

namespace sluice::codec::json {
namespace {

/// Characters of every size, and those that need an escape.
rc::Gen<std::string> any_text() {
  const auto character = rc::gen::element<std::string>(
      std::string(1, '\0'), "\n", "\x1f", "\"", "\\", "/", "a", "b", "u", " ", "\x7f", "\u0080",
      "\u07ff", "\u0800", "\ud7ff", "\ufffd", "\uffff", "\U00010000", "\U0010ffff");
  return rc::gen::map(rc::gen::resize(5, rc::gen::container<std::vector<std::string>>(character)),
                      [](const std::vector<std::string>& characters) {
                        std::string text;
                        for (const std::string& one : characters) text += one;
                        return text;
                      });
}

rc::Gen<Value> any_integer() {
  using Limits = std::numeric_limits<std::int64_t>;
  return rc::gen::map(
      rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                     rc::gen::element(Limits::min(), Limits::min() + 1, Limits::max())),
      [](std::int64_t number) { return Value{number}; });
}

/// Quarters, of which some are whole, and numbers of all magnitudes: their bits are drawn.
rc::Gen<Value> any_real() {
  const auto quarter = rc::gen::map(rc::gen::inRange(-400, 401), [](int n) { return n / 4.0; });
  const auto wide = rc::gen::map(rc::gen::resize(1000, rc::gen::arbitrary<std::uint64_t>()),
                                 [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
  return rc::gen::map(rc::gen::oneOf(quarter, wide), [](double number) {
    return Value{std::isfinite(number) ? number : std::numeric_limits<double>::max()};
  });
}

rc::Gen<Value> any_value(int depth);

rc::Gen<Value> any_array(int depth) {
  return rc::gen::map(rc::gen::resize(4, rc::gen::container<Array>(any_value(depth))),
                      [](Array items) { return Value{std::move(items)}; });
}

rc::Gen<Value> any_object(int depth) {
  const auto member = rc::gen::pair(any_text(), any_value(depth));
  using Pairs = std::vector<std::pair<std::string, Value>>;
  return rc::gen::map(rc::gen::resize(4, rc::gen::container<Pairs>(member)), [](Pairs pairs) {
    Value object{Object{}};
    auto& members = std::get<Object>(object.is);
    for (auto& [name, value] : pairs)
      if (!object.find(name)) members.push_back({std::move(name), std::move(value)});
    return object;
  });
}

rc::Gen<Value> any_value(int depth) {
  const auto text = rc::gen::map(any_text(), [](std::string s) { return Value{std::move(s)}; });
  const auto word = rc::gen::element(Value{}, Value{true}, Value{false});
  if (depth == 0) return rc::gen::oneOf(text, word, any_integer(), any_real());
  return rc::gen::oneOf(text, word, any_integer(), any_real(), any_array(depth - 1),
                        any_object(depth - 1));
}

/// An array or an object, so that no beginning of its text is a text.
rc::Gen<Value> any_tree() {
  return rc::gen::oneOf(any_array(2), any_object(2));
}

Layout any_layout() {
  return *rc::gen::element(Layout::compact, Layout::pretty);
}

/// Refused, or the same again after having been written.
void assert_settled(const std::string& text) {
  const Result<Value> value = parse(text);
  if (!value) return;
  const std::string again = to_text(*value);
  const Result<Value> back = parse(again);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == *value);
  RC_ASSERT(to_text(*back) == again);
}

RC_GTEST_PROP(JsonProperty, parsing_gives_back_what_was_written, ()) {
  for (int i = 0; i < 10; ++i) {
    const Value value = *any_value(3);
    const Result<Value> back = parse(to_text(value, any_layout()));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == value);
    RC_ASSERT(to_text(*back) == to_text(value));
  }
}

RC_GTEST_PROP(JsonProperty, any_bytes_become_a_string_that_can_be_read, ()) {
  const auto byte =
      rc::gen::element('\0', '"', '\\', 'a', '\x7f', '\x80', '\x8f', '\x90', '\x9f', '\xa0', '\xbf',
                       '\xc2', '\xe0', '\xe2', '\xed', '\xef', '\xf0', '\xf4', '\xff');
  for (int i = 0; i < 20; ++i) {
    const std::string bytes = *rc::gen::container<std::string>(byte);
    const std::string text = Writer().string(bytes).take();
    const Result<Value> back = parse(text);
    RC_ASSERT(back.has_value());
    RC_ASSERT(to_text(*back) == text);
  }
}

RC_GTEST_PROP(JsonProperty, a_text_that_is_cut_off_is_refused, ()) {
  const std::string text = to_text(*any_tree(), any_layout());
  for (std::size_t size = 0; size < text.size(); ++size)
    RC_ASSERT(!parse(text.substr(0, size)).has_value());
}

RC_GTEST_PROP(JsonProperty, a_damaged_text_is_refused_or_read_as_it_stands, ()) {
  std::string text = to_text(*any_tree(), any_layout());
  const int edits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < edits; ++i) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
    const char byte = *rc::gen::element('\0', '"', '\\', '[', ']', '{', '}', ',', ':', '-', '0',
                                        '1', '.', 'e', 'u', ' ', '\x80', '\xff');
    if (*rc::gen::arbitrary<bool>()) {
      text[at] = byte;
    } else {
      text.insert(at, 1, byte);
    }
  }
  assert_settled(text);
}

}  // namespace
}  // namespace sluice::codec::json
