// SPDX-License-Identifier: MIT
#include "migrate/block.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "codec/record.h"

namespace sluice::migrate {
namespace {

using std::string_literals::operator""s;
using std::string_view_literals::operator""sv;

constexpr codec::RecordFormat kFormat{.type = 40, .major = 1, .minor = 0};
constexpr std::uint32_t kU32Max = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kU64Max = std::numeric_limits<std::uint64_t>::max();

/// Entries that own their names.
struct Read {
  std::vector<std::string> texts;
  std::vector<Entry> entries;
  Status status;
};

Read read(std::string_view chunk) {
  Read all;
  auto reader = ChunkReader::open(chunk);
  all.status = status_of(reader);
  while (all.status.ok()) {
    auto entry = reader->next();
    all.status = status_of(entry);
    if (!entry || !*entry) break;
    all.entries.push_back(**entry);
    all.texts.emplace_back((*entry)->name);
  }
  if (all.status.ok()) {
    EXPECT_EQ(all.entries.size(), reader->entries());
  }
  for (std::size_t i = 0; i < all.entries.size(); ++i) all.entries[i].name = all.texts[i];
  return all;
}

std::string chunk_of(const std::vector<Entry>& entries) {
  ChunkWriter writer;
  for (const Entry& entry : entries) EXPECT_TRUE(writer.add(entry));
  EXPECT_EQ(writer.entries(), entries.size());
  return writer.finish();
}

/// A chunk with any body, sealed as if it were good.
std::string sealed(std::uint64_t entries, std::string_view body) {
  return codec::RecordWriter(kFormat).field(1, entries).field(2, body).finish();
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  return bytes + static_cast<char>(value);
}

void expect_back(const Entry& entry) {
  const std::string chunk = chunk_of({entry});
  const Read back = read(chunk);
  ASSERT_TRUE(back.status.ok()) << back.status.to_string();
  ASSERT_EQ(back.entries.size(), 1u);
  EXPECT_EQ(back.entries[0], entry);
}

/// A usual directory: files of one owner, a few of everything else.
std::vector<Entry> samples() {
  const std::int64_t now = 1'700'000'000'123'456'789;
  return {
      {.name = "a", .mode = 0644, .uid = 1000, .gid = 1000, .size = 5, .mtime_ns = now},
      {.name = "a.txt", .mode = 0644, .uid = 1000, .gid = 1000, .mtime_ns = now - 1},
      {.name = "b", .kind = Kind::folder, .mode = 0755, .uid = 1000, .mtime_ns = -1, .id = 300},
      {.name = "b1", .kind = Kind::link, .mode = 0777, .target = "../elsewhere/b1"},
      {.name = "c", .kind = Kind::char_device, .mode = 0600, .rdev_major = 1, .rdev_minor = 3},
      {.name = "d", .mode = 0600, .size = 7, .device = 66, .inode = 1 << 20, .hash = Hash{1, 2}},
      {.name = "e", .error = 13},
      {.name = "e\0"sv, .kind = Kind::fifo, .excluded = true},
  };
}

TEST(Chunk, a_directory_comes_back) {
  const std::vector<Entry> entries = samples();
  const std::string chunk = chunk_of(entries);
  const Read back = read(chunk);
  EXPECT_TRUE(back.status.ok()) << back.status.to_string();
  EXPECT_EQ(back.entries, entries);
}

TEST(Chunk, no_entries_come_back_as_none) {
  ChunkWriter writer;
  EXPECT_TRUE(writer.empty());
  const std::string chunk = writer.finish();
  const Read back = read(chunk);
  EXPECT_TRUE(back.status.ok());
  EXPECT_TRUE(back.entries.empty());
}

TEST(Chunk, numbers_come_back_at_the_ends_of_their_ranges) {
  for (unsigned kind = 0; kind <= 6; ++kind)
    expect_back({.name = "n", .kind = static_cast<Kind>(kind)});
  for (const std::uint32_t mode : {1u, 0777u, 07777u}) expect_back({.name = "n", .mode = mode});
  expect_back({.name = "n", .uid = kU32Max, .gid = kU32Max});
  expect_back({.name = "n", .size = kU64Max});
  expect_back({.name = "n", .rdev_major = kU32Max});
  expect_back({.name = "n", .rdev_minor = kU32Max});
  expect_back({.name = "n", .device = kU64Max});
  expect_back({.name = "n", .inode = kU64Max});
  expect_back({.name = "n", .error = kU32Max});
  expect_back({.name = "n", .id = kU64Max});
  expect_back({.name = "n", .hash = Hash{}});
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t mtime_ns :
       {kMin, std::int64_t{-1'000'000'001}, std::int64_t{-1'000'000'000}, std::int64_t{-1},
        std::int64_t{0}, std::int64_t{999'999'999}, std::int64_t{1'000'000'000}, kMax})
    expect_back({.name = "n", .mtime_ns = mtime_ns});
}

TEST(Chunk, a_time_may_be_as_far_from_the_one_before_as_times_get) {
  const std::vector<Entry> entries = {
      {.name = "a", .mtime_ns = std::numeric_limits<std::int64_t>::max()},
      {.name = "b", .mtime_ns = std::numeric_limits<std::int64_t>::min()},
      {.name = "c", .mtime_ns = std::numeric_limits<std::int64_t>::max()},
  };
  const std::string chunk = chunk_of(entries);
  EXPECT_EQ(read(chunk).entries, entries);
}

TEST(Chunk, names_and_targets_come_back_at_their_longest) {
  const std::string name(kNameBytesMax, '\xff');
  const std::string target(kTargetBytesMax, '\0');
  expect_back({.name = name, .kind = Kind::link, .target = target});
  const std::vector<Entry> sharing = {{.name = std::string_view(name).substr(1)}, {.name = name}};
  const std::string chunk = chunk_of(sharing);
  EXPECT_LT(chunk.size(), kNameBytesMax + 50);
  EXPECT_EQ(read(chunk).entries, sharing);
}

TEST(Chunk, what_is_one_past_a_limit_stops_the_writer) {
  const std::string name(kNameBytesMax + 1, 'n');
  const std::string target(kTargetBytesMax + 1, 't');
  EXPECT_DEATH(ChunkWriter().add({.name = name}), "check failed");
  EXPECT_DEATH(ChunkWriter().add({.name = "n", .target = target}), "check failed");
  EXPECT_DEATH(ChunkWriter().add({.name = "n", .mode = 010000}), "check failed");
  EXPECT_DEATH(ChunkWriter().add({.name = "n", .kind = static_cast<Kind>(7)}), "check failed");
}

TEST(Chunk, a_root_without_a_name_may_come_first) {
  const std::vector<Entry> entries = {{.kind = Kind::folder, .mode = 0755, .id = 1}, {.name = "a"}};
  const std::string chunk = chunk_of(entries);
  EXPECT_EQ(read(chunk).entries, entries);
}

TEST(Chunk, names_out_of_order_stop_the_writer) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"b", "a"}, {"a", "a"}, {"ab", "a"}, {"\x80", "\x7f"}, {"a", ""}, {"", ""}};
  for (const auto& [first, second] : table) {
    ChunkWriter writer;
    ASSERT_TRUE(writer.add({.name = first}));
    EXPECT_DEATH(writer.add({.name = second}), "check failed") << first << ", then " << second;
    (void)writer.finish();
    EXPECT_DEATH(writer.add({.name = second}), "check failed") << "in the next chunk";
  }
}

TEST(Chunk, each_chunk_is_read_by_itself) {
  ChunkWriter writer;
  const Entry first{.name = "name1", .mode = 0644, .uid = 7, .gid = 8, .mtime_ns = 1'000'000'000};
  Entry second = first;
  second.name = "name2";
  ASSERT_TRUE(writer.add(first));
  (void)writer.finish();
  EXPECT_TRUE(writer.empty());
  ASSERT_TRUE(writer.add(second));
  const std::string chunk = writer.finish();
  EXPECT_EQ(read(chunk).entries, std::vector<Entry>{second});
}

/// Entries of 8 bytes each: as many as a chunk takes, and what is left of it.
TEST(Chunk, a_chunk_is_filled_to_its_last_byte_and_not_beyond) {
  ChunkWriter writer;
  std::vector<std::string> names;
  for (std::size_t i = 0; names.size() < 8189; ++i)
    names.push_back({static_cast<char>(i >> 8 & 0xff), static_cast<char>(i & 0xff), 'x', 'y'});
  std::size_t used = 0;  // Of the body.
  std::string last;
  for (const std::string& name : names) {
    const std::size_t shared = last.empty() || last[0] != name[0] ? 0 : 1;
    if (used + 5 + name.size() - shared > kChunkBytesMax - 15 - 200) break;
    ASSERT_TRUE(writer.add({.name = name}));
    used += 5 + name.size() - shared;
    last = name;
  }
  ASSERT_GT(writer.entries(), 127u) << "or the count takes one byte only";
  const std::size_t left = kChunkBytesMax - 15 - used;
  const std::string fits = "\xff" + std::string(left - 7, 'z');  // Its length takes two bytes.
  const std::string one_more = fits + 'z';
  const std::size_t before = writer.entries();
  EXPECT_FALSE(writer.add({.name = one_more}));
  EXPECT_EQ(writer.entries(), before) << "nothing is left of what was refused";
  EXPECT_TRUE(writer.add({.name = fits}));
  const std::string chunk = writer.finish();
  EXPECT_EQ(chunk.size(), kChunkBytesMax);
  EXPECT_EQ(read(chunk).entries.size(), before + 1);
  EXPECT_TRUE(writer.add({.name = one_more})) << "into the next one";
}

TEST(Chunk, the_largest_entries_fill_a_chunk_and_come_back) {
  ChunkWriter writer;
  const std::string target(kTargetBytesMax, 't');
  const auto entry_with = [&](const std::string& name) {
    return Entry{.name = name, .kind = Kind::link, .target = target};
  };
  std::string name(kNameBytesMax, 'a');
  while (writer.add(entry_with(name))) ++name[0];
  const std::string chunk = writer.finish();
  EXPECT_LE(chunk.size(), kChunkBytesMax);
  EXPECT_EQ(read(chunk).entries.size(), 12u);
  EXPECT_TRUE(writer.add(entry_with(name)));
}

TEST(Chunk, every_flipped_bit_is_corrupt) {
  const std::string good = chunk_of(samples());
  ASSERT_TRUE(read(good).status.ok());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_EQ(status_of(ChunkReader::open(bad)).code(), Code::corrupt) << "bit " << bit;
  }
}

TEST(Chunk, every_cut_and_every_appended_byte_is_corrupt) {
  const std::string good = chunk_of(samples());
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_EQ(status_of(ChunkReader::open(good.substr(0, size))).code(), Code::corrupt) << size;
  for (int byte = 0; byte < 256; ++byte)
    ASSERT_EQ(status_of(ChunkReader::open(good + static_cast<char>(byte))).code(), Code::corrupt);
}

/// The body of a chunk, whose checksum is thereby out of the way.
std::string body_of(std::string_view chunk) {
  const auto record = codec::RecordReader::open(chunk, kFormat).value();
  return std::string(record.bytes(2).value());
}

TEST(Chunk, every_cut_of_the_body_is_corrupt_although_the_checksum_matches) {
  const std::vector<Entry> entries = samples();
  const std::string body = body_of(chunk_of(entries));
  ASSERT_TRUE(read(sealed(entries.size(), body)).status.ok());
  for (std::size_t size = 0; size < body.size(); ++size)
    ASSERT_EQ(read(sealed(entries.size(), body.substr(0, size))).status.code(), Code::corrupt);
  EXPECT_EQ(read(sealed(entries.size() - 1, body)).status.code(), Code::corrupt);
  EXPECT_EQ(read(sealed(entries.size() + 1, body)).status.code(), Code::corrupt);
  EXPECT_EQ(read(sealed(kU64Max, body)).status.code(), Code::corrupt);
}

/// Whatever a flipped bit turns the body into is refused, or is another body that the writer could
/// have written.
TEST(Chunk, every_flipped_bit_of_the_body_is_corrupt_or_canonical) {
  const std::vector<Entry> entries = samples();
  const std::string good = body_of(chunk_of(entries));
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    const std::string chunk = sealed(entries.size(), bad);
    const Read back = read(chunk);
    if (back.status.ok()) {
      ASSERT_EQ(chunk_of(back.entries), chunk) << "bit " << bit;
      ASSERT_NE(back.entries, entries) << "bit " << bit;
    } else {
      ASSERT_EQ(back.status.code(), Code::corrupt) << "bit " << bit;
      ++refused;
    }
  }
  EXPECT_GT(refused, good.size());
}

// Flags, shared, length of the suffix, seconds, nanoseconds; then the parts; then the suffix.
TEST(Chunk, a_body_that_the_writer_would_not_write_is_corrupt) {
  const std::string a = "\0\0\1\0\0a"s;
  ASSERT_TRUE(read(sealed(1, a)).status.ok());
  ASSERT_TRUE(read(sealed(2, a + "\0\1\1\0\0a"s)).status.ok());
  const std::string past_name = varint(kNameBytesMax + 1) + "\0\0"s + std::string(1025, 'n');
  const std::string past_target = varint(kTargetBytesMax + 1) + "n" + std::string(4097, 't');
  struct Bad {
    std::string body;
    std::uint64_t entries;
    std::string problem;
  };
  const std::string number = "entry 1: a number is malformed, out of its range or cut off";
  const std::string order = "entry 2: its name is not after the one before";
  const std::vector<Bad> table = {
      {"\7\0\1\0\0a"s, 1, "entry 1: its kind is not known"},
      {"\x80\0\0\1\0\0a"s, 1, number},      // flags longer than need be
      {"\x80\x80\1\0\1\0\0a"s, 1, number},  // flags that are not known
      {"\0\1\1\0\0a"s, 1, "entry 1: its name shares more than there is"},
      {"\0\0"s + past_name, 1, number},
      {a + "\0\0\1\0\0a"s, 2, order},     // the same name
      {a + "\0\1\0\0\0"s + a, 2, order},  // the same, shared
      {a + "\0\0\2\0\0ab"s, 2, order},    // shares less than it could
      {a + "\0\0\1\0\0A"s, 2, order},
      {"\0\0\1\0"s + varint(1'000'000'000) + "a", 1, number},  // nanoseconds
      {"\0\0\1"s + varint(2 * 9'223'372'036) + varint(854'775'808) + "a", 1,
       "entry 1: its time is too far"},
      {"\0\0\1"s + varint(2 * 9'223'372'037 - 1) + varint(145'224'191) + "a", 1,
       "entry 1: its time is too far"},
      {"\0\0\1"s + varint(2) + "\0a\0\1\1"s + varint(kU64Max - 1) + "\0b"s, 2,
       "entry 2: its time is too far"},
      {"\x08\0\1\0\0\0a"s, 1, number},  // mode as before
      {"\x08\0\1\0\0"s + varint(010000) + "a", 1, number},
      {"\x10\0\1\0\0\0a"s, 1, number},  // owner as before
      {"\x10\0\1\0\0"s + varint(kU32Max + 1ull) + "a", 1, number},
      {"\x20\0\1\0\0\0a"s, 1, number},    // group as before
      {"\x40\0\1\0\0\0a"s, 1, number},    // no size
      {"\x80\1\0\1\0\0\0a"s, 1, number},  // no target
      {"\x80\1\0\1\0\0"s + past_target, 1, number},
      {"\x80\1\0\1\0\0\2at"s, 1, "entry 1: its name or target is cut off"},
      {"\x80\2\0\1\0\0\0\0a"s, 1, "entry 1: its device numbers are zero"},
      {"\x80\2\0\1\0\0"s + varint(kU32Max + 1ull) + "\0a"s, 1, number},
      {"\x80\4\0\1\0\0\0\0a"s, 1, "entry 1: its inode is zero"},
      {"\x80\x08\0\1\0\0 cut off hash"s, 1, number},
      {"\x80\x10\0\1\0\0\0a"s, 1, number},  // no error
      {"\x80\x40\0\1\0\0\0a"s, 1, number},  // no id
      {"\x40\0\1\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\2a"s, 1, number},
      {a + "\0"s, 1, "chunk: more follows its last entry"},
      {"", 1, "chunk: it is too small for its entries"},
      {a, 2, "chunk: it is too small for its entries"},
      {"x", 0, "chunk: more follows its last entry"},
      {std::string(kChunkBytesMax - 14, '\0'), 1, "chunk: it is too large"},
  };
  for (const Bad& bad : table) {
    const Status status = read(sealed(bad.entries, bad.body)).status;
    EXPECT_EQ(status.code(), Code::corrupt) << bad.problem;
    EXPECT_NE(status.message().find(bad.problem), std::string::npos)
        << status.message() << " instead of " << bad.problem;
  }
}

TEST(Chunk, a_name_past_its_limit_is_corrupt_although_no_part_of_it_is) {
  const std::string first = "\0\0"s + varint(kNameBytesMax) + "\0\0"s + std::string(1024, 'n');
  ASSERT_TRUE(read(sealed(1, first)).status.ok());
  const Status status = read(sealed(2, first + "\0"s + varint(kNameBytesMax) + "\1\0\0n"s)).status;
  EXPECT_EQ(status.to_string(), "corrupt: chunk, entry 2: its name is too long");
}

TEST(Chunk, a_failure_stays) {
  const std::string chunk = sealed(2, "\0\0\1\0\0a\0\0\1\0\0a"s);
  auto reader = ChunkReader::open(chunk).value();
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(status_of(reader.next()).code(), Code::corrupt);
  EXPECT_EQ(status_of(reader.next()).code(), Code::corrupt);
}

TEST(Chunk, the_end_stays) {
  const std::string chunk = chunk_of({{.name = "a"}});
  auto reader = ChunkReader::open(chunk).value();
  ASSERT_TRUE(reader.next().value());
  EXPECT_FALSE(reader.next().value());
  EXPECT_FALSE(reader.next().value());
}

TEST(Chunk, an_intact_record_of_another_shape_is_refused) {
  const auto code = [](const std::string& bytes) { return read(bytes).status.code(); };
  using codec::RecordWriter;
  const auto format = [](std::uint8_t type, std::uint8_t major, std::uint8_t minor) {
    return codec::RecordFormat{.type = type, .major = major, .minor = minor};
  };
  EXPECT_EQ(code(RecordWriter(format(41, 1, 0)).field(1, 0u).field(2, "").finish()), Code::corrupt);
  EXPECT_EQ(code(RecordWriter(format(40, 2, 0)).field(1, 0u).field(2, "").finish()),
            Code::invalid_argument);
  EXPECT_EQ(code(RecordWriter(format(40, 1, 1)).field(1, 0u).field(2, "").finish()),
            Code::invalid_argument);
  EXPECT_EQ(code(RecordWriter(kFormat).field(1, 0u).field(2, "").field(3, 0u).finish()),
            Code::corrupt);
  EXPECT_EQ(code(RecordWriter(kFormat).field(1, 0u).finish()), Code::corrupt);
  EXPECT_EQ(code(RecordWriter(kFormat).field(2, "").finish()), Code::corrupt);
  EXPECT_EQ(code(RecordWriter(kFormat).field(1, "").field(2, "").finish()), Code::corrupt);
}

}  // namespace
}  // namespace sluice::migrate
