// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "codec/json.h"
#include "codec/json_words.h"

namespace sluice::codec::json {
namespace {

/// Up to this many names are compared each with each, which is faster than sorting them.
constexpr std::size_t kNamesComparedMax = 16;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// ASCII that stands for itself in a string.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/// Of a number that is outside the range of double: whether it is too small, not too large.
bool is_tiny(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  std::string_view power = number.substr(std::min(e + 1, number.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  std::int32_t exponent = 0;  // Half the size, so that the sum below cannot overflow.
  const auto parsed = std::from_chars(power.data(), power.data() + power.size(), exponent);
  if (parsed.ec == std::errc::result_out_of_range) return power.starts_with('-');
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  return static_cast<std::int64_t>(point) + exponent < static_cast<std::int64_t>(first);
}

/// The first member whose name another has before it; their number if there is none.
std::size_t repeated_name(const Object& members) {
  const std::size_t count = members.size();
  if (count <= kNamesComparedMax) {
    for (std::size_t i = 1; i < count; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (members[i].name == members[j].name) return i;
    return count;
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const int names = members[a].name.compare(members[b].name);
    return names != 0 ? names < 0 : a < b;
  });
  std::size_t first = count;
  for (std::size_t i = 1; i < count; ++i)
    if (members[order[i]].name == members[order[i - 1]].name) first = std::min(first, order[i]);
  return first;
}

/// Reads by recursive descent. Its functions fill what they are given, in its place in the tree, so
/// that no value is moved from level to level; they return false once `failure_` is set.
class Parser {
 public:
  Parser(std::string_view text, ParseLimits limits)
      : begin_(text.data()),
        at_(begin_),
        end_(begin_ + text.size()),
        limits_(limits),
        in_raw_(limits.any_numbers) {}

  Result<Value> whole_text() {
    Value result;
    if (!value(result)) return Failure{std::move(failure_)};
    skip_space();
    if (at_ == end_) return result;
    expected("the end of the text after the value");
    return Failure{std::move(failure_)};
  }

 private:
  bool value(Value& into);
  bool array(Value& into);
  bool object(Value& into);
  bool member(Member& into);
  bool raw_value(Value& into);
  bool check_names(const Object& members, std::size_t names_before);
  bool string(std::string& into);
  bool escape(std::string& into);
  bool unicode_escape(std::string& into);
  bool four_digits(unsigned& into);
  bool number(Value& into);
  bool digits(const char* where);
  bool integer(std::string_view text, Value& into);
  bool real(std::string_view text, Value& into);

  std::string_view rest() const { return {at_, end_}; }
  /// A zero byte at the end, which no rule accepts anywhere.
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool enter();

  bool fail(const char* at, std::string_view problem);
  bool expected(const std::string& what) {
    return fail(at_, "expected " + what + ", found " + found(rest()));
  }
  std::string after_sign() const;

  const char* const begin_;
  const char* at_;
  const char* const end_;
  const ParseLimits limits_;
  std::size_t depth_ = 0;
  bool in_raw_;                     // Numbers may be of any size.
  std::vector<const char*> names_;  // Where the names of the members read so far stand.
  Status failure_;
};

bool Parser::fail(const char* at, std::string_view problem) {
  failure_ = Status(Code::invalid_argument, place_after({begin_, at}).append(": ").append(problem));
  return false;
}

/// " after ','" if such a sign comes before this place, else nothing.
std::string Parser::after_sign() const {
  const std::string_view before(begin_, at_);
  const std::size_t last = before.find_last_not_of(" \n\r\t");
  if (last == before.npos) return "";
  return std::string(" after '") + before[last] + "'";
}

bool Parser::value(Value& into) {
  skip_space();
  const char first = peek();
  if (first == '"') return string(into.is.emplace<std::string>());
  if (first == '{') return object(into);
  if (first == '[') return array(into);
  if (first == '-' || is_digit(first)) return number(into);
  if (take_word("null")) return true;
  if (take_word("true")) return into.is.emplace<bool>(true);
  if (take_word("false")) return !into.is.emplace<bool>(false);
  return expected("a value" + after_sign());
}

/// Goes past an opening bracket.
bool Parser::enter() {
  if (depth_ == limits_.depth_max)
    return fail(at_, "arrays and objects are nested more than " +
                         std::to_string(limits_.depth_max) + " deep");
  ++depth_;
  ++at_;
  return true;
}

bool Parser::array(Value& into) {
  if (!enter()) return false;
  Array& items = into.is.emplace<Array>();
  if (!take(']')) {
    do {
      if (!value(items.emplace_back())) return false;
    } while (take(','));
    if (!take(']')) return expected("',' or ']' in the array");
  }
  --depth_;
  return true;
}

bool Parser::object(Value& into) {
  if (!enter()) return false;
  Object& members = into.is.emplace<Object>();
  const std::size_t names_before = names_.size();
  if (!take('}')) {
    members.reserve(4);
    do {
      if (!member(members.emplace_back())) return false;
    } while (take(','));
    if (!take('}')) return expected("',' or '}' in the object");
  }
  --depth_;
  return check_names(members, names_before);
}

bool Parser::member(Member& into) {
  skip_space();
  if (peek() != '"') return expected("a name in quotes" + after_sign());
  names_.push_back(at_);
  if (!string(into.name)) return false;
  if (!take(':')) return expected("':' after the name " + quoted(into.name));
  if (!limits_.raw.empty() && into.name == limits_.raw && !in_raw_) return raw_value(into.value);
  return value(into.value);
}

bool Parser::raw_value(Value& into) {
  skip_space();
  const char* const begin = at_;
  const bool before = std::exchange(in_raw_, true);
  Value checked;
  if (!value(checked)) return false;
  in_raw_ = before;
  into.is.emplace<Raw>(std::string_view(begin, at_));
  return true;
}

/// Looks at all names of an object together: to look each one up among those before it would take
/// a time that grows with the square of their number, or an index for every small object.
bool Parser::check_names(const Object& members, std::size_t names_before) {
  const std::size_t repeated = repeated_name(members);
  if (repeated != members.size())
    return fail(names_[names_before + repeated],
                "the name " + quoted(members[repeated].name) + " stands twice in the object");
  names_.resize(names_before);
  return true;
}

bool Parser::string(std::string& into) {
  ++at_;
  for (;;) {
    const char* const begin = at_;
    while (at_ != end_) {
      if (is_plain(*at_)) {
        ++at_;
      } else if (const std::size_t size = utf8_character_bytes(rest()); size > 1) {
        at_ += size;
      } else {
        break;
      }
    }
    into.append(begin, at_);
    if (at_ == end_) return expected("'\"' at the end of the string");
    if (*at_ == '"') {
      ++at_;
      return true;
    }
    if (*at_ != '\\')
      return fail(at_, "found " + found(rest()) +
                           (*at_ & 0x80 ? "" : " in a string: write it as an escape"));
    if (!escape(into)) return false;
  }
}

bool Parser::escape(std::string& into) {
  constexpr std::string_view kLetters = "\"\\/nrtbf";
  constexpr std::string_view kBytes = "\"\\/\n\r\t\b\f";
  ++at_;
  if (peek() == 'u') return unicode_escape(into);
  const std::size_t i = kLetters.find(peek());
  if (i == kLetters.npos) return expected("one of \"\\/bfnrtu after '\\'");
  into.push_back(kBytes[i]);
  ++at_;
  return true;
}

bool Parser::unicode_escape(std::string& into) {
  const char* const begin = at_ - 1;
  unsigned code = 0;
  if (!four_digits(code)) return false;
  if (code >= 0xd800 && code < 0xe000) {
    unsigned low = 0;
    const bool is_high = code < 0xdc00;
    if (is_high && rest().starts_with("\\u")) {
      ++at_;
      if (!four_digits(low)) return false;
    }
    if (low < 0xdc00 || low >= 0xe000)
      return fail(begin, "\\u" + hex(code, 4) + " is half of a surrogate pair, without the other");
    code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
  }
  if (code < 0x80) {
    into.push_back(static_cast<char>(code));
    return true;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // Bytes after the first.
  const unsigned lead = (0xff00U >> (more + 1)) & 0xff;
  into.push_back(static_cast<char>(lead | code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i)
    into.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
  return true;
}

/// Goes past a 'u' and the four digits after it.
bool Parser::four_digits(unsigned& into) {
  ++at_;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = peek();
    const char lower = static_cast<char>(c | 0x20);
    if (is_digit(c)) {
      into = into << 4 | static_cast<unsigned>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      into = into << 4 | static_cast<unsigned>(lower - 'a' + 10);
    } else {
      return expected("four hexadecimal digits after '\\u'");
    }
  }
  return true;
}

bool Parser::number(Value& into) {
  const char* const begin = at_;
  bool whole = true;
  if (*at_ == '-') ++at_;
  const bool zero = peek() == '0';
  const char* const first = at_;
  if (!digits("after '-'")) return false;
  if (zero && at_ - first > 1) return fail(begin, "a number must not begin with a zero");
  if (peek() == '.') {
    whole = false;
    ++at_;
    if (!digits("after '.'")) return false;
  }
  if (peek() == 'e' || peek() == 'E') {
    whole = false;
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    if (!digits("in the exponent")) return false;
  }
  const std::string_view text(begin, at_);
  return whole ? integer(text, into) : real(text, into);
}

bool Parser::digits(const char* where) {
  if (!is_digit(peek())) return expected(std::string("a digit ") + where);
  while (is_digit(peek())) ++at_;
  return true;
}

bool Parser::integer(std::string_view text, Value& into) {
  std::int64_t& number = into.is.emplace<std::int64_t>();
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec == std::errc()) return true;
  if (in_raw_ || limits_.round_integers) return real(text, into);
  return fail(text.data(), "the number " + shown(text) +
                               " is too large: whole numbers go from -9223372036854775808 to "
                               "9223372036854775807");
}

bool Parser::real(std::string_view text, Value& into) {
  double& number = into.is.emplace<double>();
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec == std::errc()) return true;
  if (!is_tiny(text) && !in_raw_)
    return fail(text.data(), "the number " + shown(text) + " is too large: numbers go to 1.79e308");
  number = text.starts_with('-') ? -0.0 : 0.0;
  return true;
}

}  // namespace

Result<Value> parse(std::string_view text, ParseLimits limits) {
  return Parser(text, limits).whole_text();
}

}  // namespace sluice::codec::json
