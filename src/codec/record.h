// SPDX-License-Identifier: MIT
// Stored records: a type, a version, numbered fields and a checksum over all of it.
// docs/format/encoding.md has the byte layout and worked examples.
//
//   constexpr RecordFormat kJobRecord{.type = 1, .major = 1, .minor = 0, .field_max = 4};
//   auto bytes = RecordWriter(kJobRecord).field(1, attempts).field(2, payload).finish();
//
//   SLUICE_LET(record, RecordReader::open(bytes, kJobRecord));
//   SLUICE_LET(attempts, record.u64(1));
//   SLUICE_LET(payload, record.bytes(2));
//
// How a format changes. A new field takes the number after field_max and raises field_max and
// `minor`; the number of a field that is no longer used is never given to another. Old and new
// programs then read each other's records: a field that is absent has its default (u64_or, has), a
// field above the reader's field_max is passed over, and whoever rewrites a record carries such
// fields along with keep_newer(). A change that old programs must not touch raises `major`.
#pragma once

#include <sluice/result.h>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::codec {

/// Fields are numbered from 1 to this.
inline constexpr unsigned kFieldNumberMax = 127;
/// What a record takes besides its fields: 4 bytes of header, 4 of checksum.
inline constexpr std::size_t kRecordBytesMin = 8;

/// What a program knows about one type of record; the same constant for writing and for reading.
struct RecordFormat {
  std::uint8_t type = 0;
  std::uint8_t major = 0;
  std::uint8_t minor = 0;
  /// The highest field number in use; fields above it come from newer programs.
  std::uint8_t field_max = kFieldNumberMax;
};

class RecordReader;

/// Builds one record. Fields are added in increasing order of their numbers, from 1 to
/// `format.field_max`; anything else stops the process. Not thread-safe. Allocates once if the
/// record is at most `bytes_expected` long.
class RecordWriter {
 public:
  explicit RecordWriter(const RecordFormat& format, std::size_t bytes_expected = 320);

  template <std::unsigned_integral T>
  RecordWriter& field(unsigned number, T value) {
    return put_u64(number, value);
  }
  /// Any bytes. They are copied.
  RecordWriter& field(unsigned number, std::string_view bytes);
  /// A number that may be negative, to be read with i64(). It has its own name because it is stored
  /// differently: u64() would read something else.
  RecordWriter& field_signed(unsigned number, std::int64_t value);
  template <std::signed_integral T>
  RecordWriter& field(unsigned number, T value) = delete;

  /// After the last field: adds those of `old` that this program does not know, as they were, so
  /// that a rewrite by an old program loses nothing. The version is then the newer of both. `old`
  /// must have been opened with the same type, major and field_max.
  RecordWriter& keep_newer(const RecordReader& old);

  /// The record. The writer must not be used again.
  std::string finish();

 private:
  RecordWriter& put_u64(unsigned number, std::uint64_t value);
  void begin_field(unsigned number);

  std::string bytes_;
  RecordFormat format_;
  unsigned number_last_ = 0;
};

/// One field of a record. A view type: `bytes` points into the record.
struct FieldView {
  enum class Kind : std::uint8_t { integer, bytes };

  unsigned number = 0;
  Kind kind = Kind::integer;
  std::uint64_t integer = 0;  ///< As field() stored it; 0 in a field of bytes.
  std::string_view bytes;     ///< Empty in an integer field.
};

/// Walks the fields of a record that has been opened, in increasing order of their numbers.
class FieldIterator {
 public:
  explicit FieldIterator(std::string_view rest);

  const FieldView& operator*() const { return field_; }
  const FieldView* operator->() const { return &field_; }
  FieldIterator& operator++();
  friend bool operator==(const FieldIterator& it, std::default_sentinel_t) {
    return it.rest_.empty();
  }

 private:
  void load();

  std::string_view rest_;
  FieldView field_;
  std::size_t field_bytes_ = 0;
};

/// A record that has been checked. A view type: nothing is copied, so the bytes must outlive it and
/// everything taken from it, unchanged. Looking up a field walks those between it and the one that
/// was looked up last, or all before it if that one is behind it: who asks in the order of numbers
/// passes over each once. Not thread-safe, not even for reading.
class RecordReader {
 public:
  /// Checks the checksum and every field of `bytes`, so that no later call meets anything
  /// malformed.
  ///
  /// `corrupt`: the bytes are damaged, or are not a record of this type.
  /// `invalid_argument`: they are intact, but of another major version; the message names both. It
  /// is not `corrupt`, whose advice (restore a backup) would destroy good data, nor `unavailable`,
  /// which asks for a retry: the call must change, that is, be made by another version of the
  /// program. The checksum is looked at first, so a flipped bit in the version is still `corrupt`.
  static Result<RecordReader> open(std::string_view bytes, const RecordFormat& format);

  /// `corrupt` if there is no such field, or if it is of the other kind.
  Result<std::uint64_t> u64(unsigned number) const;
  Result<std::int64_t> i64(unsigned number) const;
  Result<std::string_view> bytes(unsigned number) const;

  /// The same with a default for a field that is absent.
  Result<std::uint64_t> u64_or(unsigned number, std::uint64_t absent) const;
  Result<std::int64_t> i64_or(unsigned number, std::int64_t absent) const;
  Result<std::string_view> bytes_or(unsigned number, std::string_view absent) const;

  bool has(unsigned number) const { return find(number).has_value(); }
  std::optional<FieldView> find(unsigned number) const;
  /// All fields, those above field_max included.
  FieldIterator begin() const { return FieldIterator(fields_); }
  std::default_sentinel_t end() const { return {}; }

  std::uint8_t minor() const { return minor_; }
  /// The encoded fields above field_max; empty unless a newer program wrote the record.
  std::string_view newer_fields() const { return newer_fields_; }
  const RecordFormat& format() const { return format_; }

 private:
  RecordReader(std::string_view fields, const RecordFormat& format, std::uint8_t minor)
      : fields_(fields), format_(format), minor_(minor) {}
  Status check_fields();
  Status check_kind(const FieldView& field, FieldView::Kind kind) const;
  Failure missing(unsigned number) const;

  std::string_view fields_;
  std::string_view newer_fields_;
  RecordFormat format_;
  std::uint8_t minor_;
  // Where the last look-up ended: no field before it has that number, or a higher one.
  mutable unsigned next_number_ = 0;
  mutable std::size_t next_at_ = 0;
};

/// A stored value that ends in a mark. A view type.
struct MarkedView {
  std::string_view record;
  std::string_view mark;
};

/// Takes apart what Transaction::put_stamped_value() stores: a record, then the kMarkBytes of the
/// mark. The mark is filled in after the record was finished, so no checksum covers it. Fails with
/// `corrupt` if there is no room for both; the record itself is for RecordReader::open to check.
Result<MarkedView> split_mark(std::string_view stored);

}  // namespace sluice::codec
