// SPDX-License-Identifier: MIT
// Whatever the tuple reader accepts is canonical (writing it again gives the same bytes), and two
// accepted tuples compare as their bytes do. The first byte of the input splits it in two.
#include <algorithm>
#include <compare>
#include <cstdint>

#include "base/check.h"
#include "codec/tuple.h"

namespace {

using namespace sluice;
using namespace sluice::codec;

/// Reads one tuple, or nested tuple, and writes the same.
Status copy(TupleReader& reader, TupleWriter& writer) {
  for (;;) {
    SLUICE_LET(kind, reader.peek());
    if (kind == TupleKind::end) return {};
    if (kind == TupleKind::string) {
      SLUICE_LET(text, reader.string());
      writer.string(text);
    } else if (kind == TupleKind::mark) {
      SLUICE_LET(mark, reader.mark());
      writer.mark(mark);
    } else if (kind == TupleKind::nested) {
      SLUICE_TRY(reader.begin_nested());
      writer.begin_nested();
      SLUICE_TRY(copy(reader, writer));
      SLUICE_TRY(reader.end_nested());
      writer.end_nested();
    } else if (auto number = reader.number<std::int64_t>()) {
      writer.number(*number);
    } else {
      SLUICE_LET(high, reader.number<std::uint64_t>());
      writer.number(high);
    }
  }
}

bool is_canonical_tuple(std::string_view bytes) {
  TupleReader reader(bytes);
  TupleWriter writer;
  if (!copy(reader, writer).ok() || !reader.finish().ok()) return false;
  SLUICE_CHECK(writer.take() == bytes);
  return true;
}

std::strong_ordering compare_numbers(TupleReader& a, TupleReader& b) {
  const auto low_a = a.number<std::int64_t>();
  const auto low_b = b.number<std::int64_t>();
  if (low_a && low_b) return *low_a <=> *low_b;
  if (low_a) return std::strong_ordering::less;
  if (low_b) return std::strong_ordering::greater;
  return *a.number<std::uint64_t>() <=> *b.number<std::uint64_t>();
}

/// Both must be canonical. Reads them side by side up to the first difference.
std::strong_ordering compare(TupleReader& a, TupleReader& b) {
  for (;;) {
    const TupleKind kind = *a.peek();
    std::strong_ordering order = kind <=> *b.peek();
    if (order != 0 || kind == TupleKind::end) return order;
    if (kind == TupleKind::string) {
      order = *a.string() <=> *b.string();
    } else if (kind == TupleKind::mark) {
      order = *a.mark() <=> *b.mark();
    } else if (kind == TupleKind::number) {
      order = compare_numbers(a, b);
    } else {
      SLUICE_CHECK(a.begin_nested().ok() && b.begin_nested().ok());
      order = compare(a, b);
      if (order == 0) SLUICE_CHECK(a.end_nested().ok() && b.end_nested().ok());
    }
    if (order != 0) return order;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t split = std::min<std::size_t>(data[0], input.size());
  const std::string_view a = input.substr(0, split);
  const std::string_view b = input.substr(split);
  is_canonical_tuple(input);
  if (!is_canonical_tuple(a) || !is_canonical_tuple(b)) return 0;
  TupleReader reader_a(a);
  TupleReader reader_b(b);
  SLUICE_CHECK(compare(reader_a, reader_b) == (a <=> b));
  const TupleRange range = extensions_of(a);
  const bool in_range = range.begin <= b && b < range.end;
  SLUICE_CHECK(in_range == (b.size() > a.size() && b.starts_with(a) && b[a.size()] != '\xff'));
  return 0;
}
