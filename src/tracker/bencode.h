// SPDX-License-Identifier: MIT
// Bencode (BEP 3): texts are read in place, through views, and written piece by piece.
//
//   SLUICE_LET(answer, bencode::read(body));
//   const auto interval = answer.find("interval");
//   if (interval) use(interval->integer());
//
//   bencode::Writer writer(out);
//   writer.dict().key("interval").integer(1800).key("peers").string(peers).end();
#pragma once

#include <sluice/result.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::tracker::bencode {

/// How many lists and dictionaries may be open at once.
inline constexpr std::size_t kDepthMax = 32;

enum class Kind : std::uint8_t { integer, string, list, dict };

class Entries;

/// A value in a text that read() has found good. Nothing is copied: it is valid as long as the text
/// is. Nothing is remembered either: find() and Entries::next() pass over the bytes before theirs.
class View {
 public:
  Kind kind() const;

  /// The content; nothing if it is of another kind.
  std::optional<std::int64_t> integer() const;
  std::optional<std::string_view> string() const;
  /// What stands under `key`; nothing if there is no such key or this is no dictionary.
  std::optional<View> find(std::string_view key) const;
  /// Of a list or a dictionary, in the order of the text; of any other value there are none.
  Entries entries() const;

  /// The bytes of the value.
  std::string_view text() const { return text_; }

 private:
  friend class Entries;
  friend Result<View> read(std::string_view text);
  explicit View(std::string_view text) : text_(text) {}

  std::string_view text_;
};

struct Entry {
  std::string_view key;  ///< Empty in a list.
  View value;
};

/// Goes once through what a list or a dictionary holds.
class Entries {
 public:
  /// Nothing after the last.
  std::optional<Entry> next();

 private:
  friend class View;
  Entries(std::string_view rest, bool has_keys) : rest_(rest), has_keys_(has_keys) {}

  std::string_view rest_;  // Up to the end of the list; empty once it was passed.
  bool has_keys_;
};

/// `text` must be exactly one value. Strict, but for the order of keys, which may be any:
/// `invalid_argument` if a number or a length has a leading zero or is "-0", an integer is outside
/// std::int64_t, a length goes past the end, a key stands twice, anything follows the value, or
/// more than kDepthMax lists and dictionaries are open at once. The message begins with the place:
/// "byte 7: ...".
///
/// Allocates nothing, except for a dictionary whose keys are not in order: a view for each of them.
/// Takes time in proportion to the text, at worst kDepthMax times that, and n log n for n keys that
/// are not in order.
Result<View> read(std::string_view text);

/// Appends one value to a string that outlives the writer. Misuse stops the process: a key that is
/// not greater than the one before it in its dictionary, a value without a key or a key without a
/// value, an end of nothing, more than kDepthMax open at once. Nobody else changes the string
/// meanwhile. Not thread-safe.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& dict();
  Writer& list();
  /// Of the innermost list or dictionary.
  Writer& end();
  Writer& key(std::string_view key);
  Writer& integer(std::int64_t value);
  Writer& string(std::string_view value);

 private:
  struct Level {
    bool is_dict = false;
    bool has_key = false;       // A key that waits for its value.
    std::size_t key_begin = 0;  // Of the last key, in the string; 0: there was none.
    std::size_t key_bytes = 0;
  };

  void open(bool is_dict);
  void begin_value();
  void append(std::string_view string);

  std::string& out_;
  std::array<Level, kDepthMax> levels_ = {};
  std::size_t depth_ = 0;
};

}  // namespace sluice::tracker::bencode
