// SPDX-License-Identifier: MIT
// Random tuples against an independent model: a tree of values with its own comparison.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <compare>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "codec/tuple.h"

namespace sluice::codec {
namespace {

struct Value;
using Values = std::vector<Value>;
struct Mark {
  std::string bytes;
};

/// One element. The alternatives stand in the documented order of the kinds.
struct Value {
  std::variant<std::string, Values, std::int64_t, std::uint64_t, Mark> is;
};

std::strong_ordering compare(const Values& a, const Values& b);

std::strong_ordering compare_bytes(const std::string& a, const std::string& b) {
  return std::lexicographical_compare_three_way(
      a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return static_cast<unsigned char>(x) <=> static_cast<unsigned char>(y);
      });
}

bool is_number(const Value& value) {
  return value.is.index() == 2 || value.is.index() == 3;
}

__extension__ using Wide = __int128;
Wide wide(const Value& value) {
  const auto* negative = std::get_if<std::int64_t>(&value.is);
  return negative ? Wide{*negative} : Wide{std::get<std::uint64_t>(value.is)};
}

std::strong_ordering compare(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return wide(a) <=> wide(b);
  if (a.is.index() != b.is.index()) return a.is.index() <=> b.is.index();
  if (const auto* text = std::get_if<std::string>(&a.is))
    return compare_bytes(*text, std::get<std::string>(b.is));
  if (const auto* values = std::get_if<Values>(&a.is))
    return compare(*values, std::get<Values>(b.is));
  return compare_bytes(std::get<Mark>(a.is).bytes, std::get<Mark>(b.is).bytes);
}

std::strong_ordering compare(const Values& a, const Values& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (const auto order = compare(a[i], b[i]); order != 0) return order;
  return a.size() <=> b.size();
}

void write(TupleWriter& writer, const Values& values) {
  for (const Value& value : values) {
    if (const auto* text = std::get_if<std::string>(&value.is)) writer.string(*text);
    if (const auto* number = std::get_if<std::int64_t>(&value.is)) writer.number(*number);
    if (const auto* number = std::get_if<std::uint64_t>(&value.is)) writer.number(*number);
    if (const auto* mark = std::get_if<Mark>(&value.is)) writer.mark(mark->bytes);
    if (const auto* nested = std::get_if<Values>(&value.is)) {
      writer.begin_nested();
      write(writer, *nested);
      writer.end_nested();
    }
  }
}

std::string encode(const Values& values) {
  TupleWriter writer;
  write(writer, values);
  return writer.take();
}

Result<Values> read(TupleReader& reader);

Result<Value> read_element(TupleReader& reader, TupleKind kind) {
  if (kind == TupleKind::string) {
    SLUICE_LET(text, reader.string());
    return Value{std::move(text)};
  }
  if (kind == TupleKind::mark) {
    SLUICE_LET(mark, reader.mark());
    return Value{Mark{std::string(mark)}};
  }
  if (kind == TupleKind::number) {
    if (auto number = reader.number<std::int64_t>()) return Value{*number};
    SLUICE_LET(number, reader.number<std::uint64_t>());
    return Value{number};
  }
  SLUICE_TRY(reader.begin_nested());
  SLUICE_LET(nested, read(reader));
  SLUICE_TRY(reader.end_nested());
  return Value{std::move(nested)};
}

Result<Values> read(TupleReader& reader) {
  Values values;
  for (;;) {
    SLUICE_LET(kind, reader.peek());
    if (kind == TupleKind::end) return values;
    SLUICE_LET(value, read_element(reader, kind));
    values.push_back(std::move(value));
  }
}

Result<Values> decode(std::string_view bytes) {
  TupleReader reader(bytes);
  SLUICE_LET(values, read(reader));
  SLUICE_TRY(reader.finish());
  return values;
}

/// Short strings over few letters, so that prefixes of each other are common.
rc::Gen<std::string> nasty_bytes() {
  return rc::gen::resize(4, rc::gen::container<std::string>(
                                rc::gen::element('\0', '\0', '\x01', 'a', '\xfe', '\xff')));
}

rc::Gen<Value> nasty_number() {
  return rc::gen::apply(
      [](int power, int step, bool negative, bool random, std::uint64_t drawn) {
        std::uint64_t bits = power == 8 ? 0 : std::uint64_t{1} << (8 * power);
        bits = random ? drawn : bits + static_cast<std::uint64_t>(static_cast<std::int64_t>(step));
        if (negative) bits = 0 - bits;
        return negative ? Value{static_cast<std::int64_t>(bits)} : Value{bits};
      },
      rc::gen::inRange(0, 9), rc::gen::inRange(-1, 2), rc::gen::arbitrary<bool>(),
      rc::gen::element(false, false, true), rc::gen::arbitrary<std::uint64_t>());
}

rc::Gen<Value> edge_number() {
  return rc::gen::element(Value{std::numeric_limits<std::int64_t>::min()},
                          Value{std::numeric_limits<std::int64_t>::max()},
                          Value{std::numeric_limits<std::uint64_t>::max()},
                          Value{std::uint64_t{1} << 63}, Value{std::int64_t{0}});
}

rc::Gen<Value> any_mark() {
  return rc::gen::map(
      rc::gen::container<std::string>(kMarkBytes, rc::gen::element('\0', '\x01', '\x40', '\xff')),
      [](std::string bytes) { return Value{Mark{std::move(bytes)}}; });
}

rc::Gen<Values> any_values(int depth);

rc::Gen<Value> any_value(int depth) {
  auto text =
      rc::gen::map(nasty_bytes(), [](std::string bytes) { return Value{std::move(bytes)}; });
  if (depth == 0) return rc::gen::oneOf(text, nasty_number(), edge_number(), any_mark());
  auto nested =
      rc::gen::map(any_values(depth - 1), [](Values values) { return Value{std::move(values)}; });
  return rc::gen::oneOf(text, text, nasty_number(), edge_number(), any_mark(), nested, nested);
}

rc::Gen<Values> any_values(int depth) {
  return rc::gen::resize(3, rc::gen::container<Values>(any_value(depth)));
}

Values joined(Values head, const Values& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

void assert_order(const Values& a, const Values& b) {
  RC_ASSERT((compare_bytes(encode(a), encode(b)) == compare(a, b)));
}

RC_GTEST_PROP(TupleProperty, decoding_gives_back_what_was_encoded, ()) {
  for (int i = 0; i < 10; ++i) {
    const Values values = *any_values(3);
    const Result<Values> back = decode(encode(values));
    RC_ASSERT(back.has_value());
    RC_ASSERT((compare(*back, values) == 0));
  }
}

RC_GTEST_PROP(TupleProperty, the_order_of_the_bytes_is_the_order_of_the_values, ()) {
  const Values head = *any_values(1);
  std::vector<Values> all;
  for (int i = 0; i < 12; ++i) all.push_back(joined(head, *any_values(2)));
  for (const Values& a : all)
    for (const Values& b : all) assert_order(a, b);
}

RC_GTEST_PROP(TupleProperty, a_range_holds_exactly_the_extensions_of_its_prefix, ()) {
  const Values prefix = *any_values(1);
  const TupleRange range = extensions_of(encode(prefix));
  for (int i = 0; i < 20; ++i) {
    const Values tail = *any_values(1);
    const Values key = i % 2 == 0 ? joined(prefix, tail) : tail;
    const Values start(key.begin(), key.begin() + std::min(key.size(), prefix.size()));
    const bool extends = key.size() > prefix.size() && compare(start, prefix) == 0;
    const std::string bytes = encode(key);
    RC_ASSERT((range.begin <= bytes && bytes < range.end) == extends);
  }
}

RC_GTEST_PROP(TupleProperty, a_cut_off_tuple_is_refused_or_is_a_shorter_tuple, ()) {
  const Values values = *any_values(3);
  const std::string bytes = encode(values);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    Result<Values> back = decode(cut);
    if (!back) continue;
    RC_ASSERT(encode(*back) == cut);
    // The cut may fall between a zero and its escape, which ends the last string early; what comes
    // before the last element must be as it was.
    if (!back->empty()) back->pop_back();
    RC_ASSERT(back->size() < values.size());
    RC_ASSERT((compare(*back, Values(values.begin(), values.begin() + back->size())) == 0));
  }
}

RC_GTEST_PROP(TupleProperty, damaged_bytes_are_refused_or_canonical, ()) {
  std::string bytes = encode(*any_values(3));
  const int edits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < edits && !bytes.empty(); ++i) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    const char byte = *rc::gen::element('\0', '\x01', '\x05', '\x13', '\x15', '\x40', '\xff');
    if (*rc::gen::arbitrary<bool>()) {
      bytes[at] = byte;
    } else {
      bytes.insert(at, 1, byte);
    }
  }
  const Result<Values> back = decode(bytes);
  if (back) RC_ASSERT(encode(*back) == bytes);
}

TEST(TupleProperty, every_short_string_of_telling_bytes_is_refused_or_canonical) {
  const std::string alphabet("\x00\x01\x05\x0c\x12\x13\x14\x15\x16\x40\xfe\xff", 12);
  int accepted = 0;
  for (int length = 0, count = 1; length <= 4; ++length, count *= 12)
    for (int n = 0; n < count; ++n) {
      std::string bytes;
      for (int i = 0, rest = n; i < length; ++i, rest /= 12) bytes.push_back(alphabet[rest % 12]);
      const Result<Values> back = decode(bytes);
      if (!back) continue;
      ++accepted;
      ASSERT_EQ(encode(*back), bytes);
    }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace sluice::codec
