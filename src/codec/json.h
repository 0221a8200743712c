// SPDX-License-Identifier: MIT
// JSON as RFC 8259 has it: texts are read into a tree of Values, and written piece by piece or from
// such a tree.
//
//   SLUICE_LET(request, json::parse(body));
//   const json::Value* id = request.find("id");
//   const auto* text = id ? id->as<std::string>() : nullptr;
//   if (!text) return error(Code::invalid_argument, "\"id\" must be a string");
//
//   json::Writer writer;
//   writer.object().name("id").string(*text).name("attempts").number(3).end_object();
//   std::string answer = writer.take();
#pragma once

#include <sluice/result.h>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::codec::json {

/// Whole and other numbers are told apart by how they are written: 1 is `integer`, 1.0 and 1e0 are
/// `real`.
enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object, raw };

/// The text of a value that was checked and not taken apart (ParseLimits::raw).
struct Raw {
  std::string_view text;
  friend bool operator==(const Raw&, const Raw&) = default;
};

struct Value;
struct Member;
using Array = std::vector<Value>;
/// In the order of the text.
using Object = std::vector<Member>;

/// Any JSON value, with all that it contains; null unless told otherwise. What parse() returns has
/// valid UTF-8 in its strings, and in no object the same name twice; a Value made by hand should
/// keep to that, or it is not read back as it was. Copying copies the whole tree.
struct Value {
  /// The alternatives stand in the order of Kind.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object, Raw> is;

  Kind kind() const { return static_cast<Kind>(is.index()); }
  /// For messages: "null", "a boolean", "a number" (of either kind), "a string", "an array",
  /// "an object", "a value" (raw).
  const char* kind_name() const;

  /// The content if it is a T, one of the alternatives of `is`; otherwise null.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }

  /// The value of the member called `name`; null if there is none or this is not an object. Looks
  /// at the members one by one. The pointer is good until the object is changed.
  const Value* find(std::string_view name) const;

  /// Equal kinds and equal contents: the order of members counts, and 1 differs from 1.0.
  friend bool operator==(const Value& a, const Value& b);
};

struct Member {
  std::string name;
  Value value;

  friend bool operator==(const Member& a, const Member& b) = default;
};

struct ParseLimits {
  /// How many arrays and objects may be open at once; with 0, only a string, a number or the like
  /// is read. The parser recurses: every level takes a few hundred bytes of stack.
  std::size_t depth_max = 64;
  /// If not empty: the value of every member of this name is kept as Raw, a view into the text. In
  /// it numbers may be of any size.
  std::string_view raw = {};
  /// A whole number outside std::int64_t is `real`, rounded, instead of refused.
  bool round_integers = false;
  /// Numbers may be of any size everywhere: for a text that is only to be checked.
  bool any_numbers = false;
};

/// Reads a text that is exactly one value, with white space around it or none.
///
/// Strict: every failure is `invalid_argument`, and its message begins with the place, as in
/// `line 1, column 6: expected ':' after the name "id", found '1'`. Columns count characters, not
/// bytes, from 1; at the end of the text, it is the place after the last character. The message is
/// one line of valid UTF-8 and quotes only a short piece of the text.
///
/// Refused beyond what the grammar of RFC 8259 refuses: a name that stands twice in an object,
/// bytes that are not UTF-8 (a byte order mark too), half a surrogate pair, nesting deeper than
/// `depth_max`, a number without '.' and exponent that is outside std::int64_t, and any other that
/// rounds to infinity. One that is too small for a double is 0. "\u0000" is a zero byte.
///
/// Takes time in proportion to the text, and n log n for n members of one object. The tree takes at
/// worst about 60 times the memory of the text, which a caller bounds by the size of the text.
Result<Value> parse(std::string_view text, ParseLimits limits = {});

/// The size of the UTF-8 character that `bytes` begins with; 0 if there is none, be it that `bytes`
/// is empty, cut off or malformed. Overlong forms, surrogates and what lies beyond U+10FFFF are no
/// characters.
std::size_t utf8_character_bytes(std::string_view bytes);

/// Pretty puts every member and element on a line of its own, indented by two spaces per level.
enum class Layout : std::uint8_t { compact, pretty };

/// The whole numbers that Writer::number() takes.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/// Writes one JSON text; puts the commas by itself. Misuse stops the process: a member without a
/// name, a name outside of an object, an end that does not fit, a second value after the outermost,
/// a number that is not finite. That the names in an object differ is left to the caller.
///
/// Not thread-safe. Nesting has no limit here, but value() recurses as deep as the value goes.
class Writer {
 public:
  explicit Writer(Layout layout = Layout::compact) : layout_(layout) {}

  Writer& object() { return begin('{'); }
  Writer& end_object() { return end('{', '}'); }
  Writer& array() { return begin('['); }
  Writer& end_array() { return end('[', ']'); }
  /// The name of the member whose value comes next. Written as string() does it.
  Writer& name(std::string_view name);

  /// Any bytes: each one that is no part of valid UTF-8 is written as U+FFFD, so the text is always
  /// valid. Escapes only what must be: quotes, backslashes and control characters.
  Writer& string(std::string_view bytes);
  /// Note that parse() refuses what is above the range of std::int64_t.
  template <Integer T>
  Writer& number(T value) {
    if constexpr (std::signed_integral<T>) return put_signed(value);
    return put_unsigned(static_cast<std::uint64_t>(value));
  }
  /// The shortest text that parse() reads as an equal `real`: with '.' or an exponent, always.
  template <std::floating_point T>
  Writer& number(T value) {
    return put_real(static_cast<double>(value));
  }
  Writer& boolean(bool value);
  Writer& null();
  /// The text of a value, put as it is: it must be valid.
  Writer& raw(std::string_view text);
  /// A value with all that it contains.
  Writer& value(const Value& value);

  /// What has been written so far.
  const std::string& text() const { return text_; }
  /// The text, in which nothing may be left open. The writer is then as good as new.
  std::string take();

 private:
  Writer& begin(char bracket);
  Writer& end(char bracket, char closing);
  Writer& put_signed(std::int64_t value);
  Writer& put_unsigned(std::uint64_t value);
  Writer& put_real(double value);
  void begin_value();
  void separate();
  void break_line();
  void put_quoted(std::string_view bytes);

  std::string text_;
  std::string open_;  // The brackets that wait for their end, outermost first.
  Layout layout_;
  bool first_ = true;   // Nothing stands yet in the innermost open bracket.
  bool named_ = false;  // A name waits for its value.
};

/// The text of `value`, as Writer::value() writes it.
std::string to_text(const Value& value, Layout layout = Layout::compact);

}  // namespace sluice::codec::json
