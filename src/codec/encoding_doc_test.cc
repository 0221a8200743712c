// SPDX-License-Identifier: MIT
// Holds docs/format/encoding.md to what the code does.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "codec/record.h"
#include "codec/tuple.h"
#include "tests/support/documents.h"

namespace sluice::codec {
namespace {

using Row = std::vector<std::string>;

std::string without_ticks(std::string cell) {
  std::erase(cell, '`');
  const std::size_t from = cell.find_first_not_of(' ');
  return from == cell.npos ? "" : cell.substr(from, cell.find_last_not_of(' ') - from + 1);
}

Row cells_of(const std::string& line) {
  Row cells;
  for (std::size_t at = 1, bar; (bar = line.find('|', at)) != line.npos; at = bar + 1)
    cells.push_back(without_ticks(line.substr(at, bar - at)));
  return cells;
}

/// The rows of the first table under a heading, without its two head lines.
std::vector<Row> table_under(const std::string& heading) {
  std::istringstream file(test::read_document("format/encoding.md"));
  std::string line;
  while (std::getline(file, line) && line != "### " + heading) {
  }
  std::vector<Row> rows;
  while (std::getline(file, line) && !line.starts_with('#'))
    if (line.starts_with('|')) rows.push_back(cells_of(line));
  if (rows.size() >= 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    char two[4];
    std::snprintf(two, sizeof two, " %02x", static_cast<unsigned char>(byte));
    text += two;
  }
  return text.empty() ? text : text.substr(1);
}

const char* name_of(TupleKind kind) {
  switch (kind) {
    case TupleKind::string:
      return "string";
    case TupleKind::nested:
      return "nested";
    case TupleKind::number:
      return "number";
    case TupleKind::mark:
      return "mark";
    case TupleKind::end:
      break;
  }
  return "none";
}

TEST(EncodingDoc, its_type_codes_are_those_of_the_reader) {
  std::vector<std::string> documented(256, "none");
  for (const Row& row : table_under("Type codes")) {
    const int first = std::stoi(row[0].substr(0, 2), nullptr, 16);
    const int last = std::stoi(row[0].substr(row[0].size() - 2), nullptr, 16);
    for (int code = first; code <= last; ++code) documented[code] = row[1];
  }
  for (int code = 0; code < 256; ++code) {
    const std::string bytes(1, static_cast<char>(code));
    const auto kind = TupleReader(bytes).peek();
    EXPECT_EQ(documented[code], kind ? name_of(*kind) : "none") << "code " << hex(bytes);
  }
}

Row number_row(auto number) {
  return {"(" + std::to_string(number) + ")", hex(TupleWriter().number(number).take())};
}

std::vector<Row> tuple_rows() {
  using std::string_literals::operator""s;
  std::string mark;
  for (char byte = 0; byte < 16; ++byte) mark.push_back(byte);
  std::vector<Row> rows = {
      {"()", hex(TupleWriter().take())},
      {R"((""))", hex(TupleWriter().string("").take())},
      {R"(("abc"))", hex(TupleWriter().string("abc").take())},
      {R"(("a\0b"))", hex(TupleWriter().string("a\0b"s).take())},
  };
  for (const int number : {0, 1, 255, 256, -1, -255, -256}) rows.push_back(number_row(number));
  rows.push_back(number_row(std::numeric_limits<std::int64_t>::max()));
  rows.push_back(number_row(std::numeric_limits<std::uint64_t>::max()));
  rows.push_back(number_row(std::numeric_limits<std::int64_t>::min()));
  rows.push_back({"(())", hex(TupleWriter().begin_nested().end_nested().take())});
  TupleWriter nested;
  nested.string("q").begin_nested().string("g").number(5).end_nested().number(7);
  rows.push_back({R"(("q", ("g", 5), 7))", hex(nested.take())});
  rows.push_back({R"(("q", mark 000102...0f))", hex(TupleWriter().string("q").mark(mark).take())});
  return rows;
}

TEST(EncodingDoc, its_tuple_examples_are_what_the_writer_writes) {
  EXPECT_EQ(table_under("Tuple examples"), tuple_rows());
}

std::vector<Row> record_rows() {
  constexpr RecordFormat kFirst{.type = 1, .major = 1, .minor = 0};
  constexpr RecordFormat kLater{.type = 1, .major = 1, .minor = 4};
  return {
      {"no fields", hex(RecordWriter(kFirst).finish())},
      {"field 1 = 5", hex(RecordWriter(kFirst).field(1, 5u).finish())},
      {"field 1 = 300", hex(RecordWriter(kFirst).field(1, 300u).finish())},
      {"field 1 = -2, signed", hex(RecordWriter(kFirst).field_signed(1, -2).finish())},
      {"field 2 = \"abc\"", hex(RecordWriter(kFirst).field(2, "abc").finish())},
      {"version 1.4, field 1 = 5, field 127 = \"\"",
       hex(RecordWriter(kLater).field(1, 5u).field(127, "").finish())},
  };
}

TEST(EncodingDoc, its_record_examples_are_what_the_writer_writes) {
  EXPECT_EQ(table_under("Record examples"), record_rows());
}

}  // namespace
}  // namespace sluice::codec
