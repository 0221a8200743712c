// SPDX-License-Identifier: MIT
// Keys as tuples whose bytes sort as their values do: comparing two encoded tuples with memcmp
// gives the same answer as comparing them element by element. A tuple that is the beginning of
// another sorts before it. Kinds of element sort in the order byte string, nested tuple, number,
// mark. docs/format/encoding.md has the byte table and worked examples.
//
//   auto key = TupleWriter().string("ready").number(priority).mark(place).take();
//
//   TupleReader reader(key);
//   SLUICE_LET(lane, reader.string());
//   SLUICE_LET(priority, reader.number<std::int32_t>());
//   SLUICE_LET(place, reader.mark());
//   SLUICE_TRY(reader.finish());
#pragma once

#include <sluice/result.h>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::codec {

/// How many nested tuples may be open at once; the outermost tuple does not count. A deeper
/// encoding is `corrupt` to the reader, so that code which follows the nesting by recursion is
/// safe.
inline constexpr std::size_t kTupleDepthMax = 16;

/// The size of a mark: what a store fills in for a stamp (kv::Mark).
inline constexpr std::size_t kMarkBytes = 16;

/// The whole numbers that number() takes: the signed and unsigned types of up to 64 bits.
template <class T>
concept TupleNumber = std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8;

/// A key with a gap of kMarkBytes, which the store fills in at commit: prefix + mark + suffix is
/// the encoded tuple.
struct StampedTuple {
  std::string prefix;
  std::string suffix;
};

/// Builds one encoded tuple, element by element. Misuse (nesting left open or too deep, a mark of
/// the wrong size, a second stamp) stops the process: the shape of a key is decided by the program.
/// Not thread-safe. Costs one allocation for keys of up to about 64 bytes beyond the prefix.
class TupleWriter {
 public:
  /// Goes on after `prefix`, the encoding of a tuple's first elements, as take() returned it.
  explicit TupleWriter(std::string_view prefix = {});

  /// Any bytes, zeros included.
  TupleWriter& string(std::string_view bytes);
  /// Equal values encode equally, whatever their type.
  template <TupleNumber T>
  TupleWriter& number(T value) {
    if constexpr (std::signed_integral<T>) {
      return value < 0 ? put_negative(0 - static_cast<std::uint64_t>(value))
                       : put_positive(static_cast<std::uint64_t>(value));
    } else {
      return put_positive(value);
    }
  }
  /// Exactly kMarkBytes opaque bytes, kept as they are: a mark that is known, or a hash.
  TupleWriter& mark(std::string_view bytes);
  /// Leaves the gap for a mark that the store fills in; at most one, then use take_stamped().
  TupleWriter& stamp();
  /// What is written up to the matching end_nested() is one element of the enclosing tuple.
  TupleWriter& begin_nested();
  TupleWriter& end_nested();

  /// The encoded tuple. The writer is then as good as new.
  std::string take();
  /// The same for a tuple that has a stamp().
  StampedTuple take_stamped();

 private:
  static constexpr std::size_t kNoStamp = SIZE_MAX;

  TupleWriter& put_positive(std::uint64_t value);
  TupleWriter& put_negative(std::uint64_t magnitude);
  TupleWriter& put_number(char code, std::uint64_t bits, std::size_t size);

  std::string bytes_;
  std::size_t stamp_at_ = kNoStamp;
  std::size_t depth_ = 0;
};

/// A tuple of up to kNumbersMax whole numbers that are not negative, as a TupleWriter writes it,
/// but without memory of its own: for keys that are made often.
class NumberTuple {
 public:
  static constexpr std::size_t kNumbersMax = 6;

  template <std::unsigned_integral T>
  NumberTuple& number(T value) {
    return put(value);
  }
  operator std::string_view() const { return {bytes_, size_}; }
  std::string to_string() const { return {bytes_, size_}; }

 private:
  NumberTuple& put(std::uint64_t value);

  char bytes_[kNumbersMax * (1 + sizeof(std::uint64_t))];
  std::size_t size_ = 0;
};

enum class TupleKind : std::uint8_t { end, string, nested, number, mark };

/// Reads one encoded tuple, element by element. Strict: it accepts exactly what a TupleWriter
/// writes, so two different byte strings never decode to the same tuple. Every failure is
/// `corrupt`, names the byte, and leaves the reader where it was.
///
/// A view type: the bytes must outlive it, and what mark() returns.
class TupleReader {
 public:
  explicit TupleReader(std::string_view bytes) : bytes_(bytes) {}

  /// What comes next; `end` at the end of the tuple, or of the nested tuple that is being read.
  Result<TupleKind> peek() const;

  Result<std::string> string();
  /// Fails if the number is outside T.
  template <TupleNumber T>
  Result<T> number() {
    SLUICE_LET(parsed, parse_number());
    if (parsed.negative) {
      const auto value = static_cast<std::int64_t>(0 - parsed.magnitude);
      if (!std::in_range<T>(value)) return fail("the number is too low for its place");
      at_ += parsed.size;
      return static_cast<T>(value);
    }
    if (!std::in_range<T>(parsed.magnitude)) return fail("the number is too high for its place");
    at_ += parsed.size;
    return static_cast<T>(parsed.magnitude);
  }
  /// kMarkBytes bytes of the input.
  Result<std::string_view> mark();
  Status begin_nested();
  Status end_nested();

  /// Fails unless the whole input has been read and every nested tuple ended.
  Status finish() const;

 private:
  struct Number {
    bool negative = false;
    std::uint64_t magnitude = 0;  // At most 2^63 if negative.
    std::size_t size = 0;
  };

  Result<Number> parse_number() const;
  Status expect(TupleKind kind) const;
  Failure fail(std::string_view problem) const;

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

/// Half-open: begin <= key < end, as a scan takes it.
struct TupleRange {
  std::string begin;
  std::string end;
};

/// Every tuple that begins with the elements of `prefix` (as take() returned it) and has at least
/// one more, whatever it is; not `prefix` itself. Note that plain byte-prefix matching will not do:
/// the bytes of ("a") are also the first bytes of ("a\0b").
TupleRange extensions_of(std::string_view prefix);

}  // namespace sluice::codec
