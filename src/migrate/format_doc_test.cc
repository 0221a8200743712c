// SPDX-License-Identifier: MIT
// Holds docs/format/migrate.md to what the code does.
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "codec/record.h"
#include "migrate/block.h"
#include "tests/support/documents.h"

namespace sluice::migrate {
namespace {

using Row = std::vector<std::string>;

std::string without_ticks(std::string cell) {
  std::erase(cell, '`');
  const std::size_t from = cell.find_first_not_of(' ');
  return from == cell.npos ? "" : cell.substr(from, cell.find_last_not_of(' ') - from + 1);
}

/// The rows of the first table under a heading, without its two head lines.
std::vector<Row> table_under(const std::string& heading) {
  std::istringstream file(test::read_document("format/migrate.md"));
  std::string line;
  while (std::getline(file, line) && line != "### " + heading) {
  }
  std::vector<Row> rows;
  while (std::getline(file, line) && !line.starts_with('#')) {
    if (!line.starts_with('|')) continue;
    Row& cells = rows.emplace_back();
    for (std::size_t at = 1, bar; (bar = line.find('|', at)) != line.npos; at = bar + 1)
      cells.push_back(without_ticks(line.substr(at, bar - at)));
  }
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

std::string body_of(const std::string& chunk) {
  constexpr codec::RecordFormat kChunk{.type = 40, .major = 1, .minor = 0, .field_max = 2};
  return std::string(codec::RecordReader::open(chunk, kChunk).value().bytes(2).value());
}

std::vector<Entry> example() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const Entry file{.name = "notes.txt",
                   .mode = 0644,
                   .uid = 1000,
                   .gid = 1000,
                   .size = 300,
                   .mtime_ns = 1'700'000'000 * kSecond + kSecond / 2};
  Entry folder = file;
  folder.name = "notes2";
  folder.kind = Kind::folder;
  folder.mode = 0755;
  folder.size = 0;
  folder.mtime_ns -= kSecond;
  folder.id = 7;
  Entry link = folder;
  link.name = "now";
  link.kind = Kind::link;
  link.mode = 0777;
  link.id = 0;
  link.target = "notes.txt";
  return {file, folder, link};
}

/// What each entry adds to the body, and the whole.
std::vector<Row> example_rows() {
  std::vector<Row> rows;
  std::string before;
  std::string chunk;
  const std::vector<Entry> entries = example();
  for (std::size_t count = 1; count <= entries.size(); ++count) {
    ChunkWriter writer;
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(writer.add(entries[i]));
    chunk = writer.finish();
    const std::string body = body_of(chunk);
    EXPECT_TRUE(body.starts_with(before));
    rows.push_back({std::string(entries[count - 1].name), hex(body.substr(before.size()))});
    before = body;
  }
  const std::size_t body_at = chunk.find(before);
  rows.insert(rows.begin(), {"record, fields", hex(chunk.substr(0, body_at))});
  rows.push_back({"checksum", hex(chunk.substr(body_at + before.size()))});
  return rows;
}

TEST(FormatDoc, its_chunk_is_what_the_writer_writes) {
  EXPECT_EQ(table_under("Chunk example"), example_rows());
}

TEST(FormatDoc, its_limits_are_those_of_the_code) {
  const std::string text = test::read_document("format/migrate.md");
  static_assert(kChunkBytesMax == 65'536 && kNameBytesMax == 1'024 && kTargetBytesMax == 4'096);
  for (const char* limit : {"at most 65,536 bytes", "has 1,024 bytes at most", "at most 4,096 |"})
    EXPECT_NE(text.find(limit), text.npos) << limit;
}

}  // namespace
}  // namespace sluice::migrate
