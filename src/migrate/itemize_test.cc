// SPDX-License-Identifier: MIT
#include "migrate/itemize.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"

namespace sluice::migrate {
namespace {

using std::string_literals::operator""s;

constexpr std::int64_t kDay1 = 1'704'067'200'500'000'000;  // 2024-01-01T00:00:00.5Z
constexpr std::int64_t kDay2 = kDay1 + 86'400'000'000'000;

Entry file_of(std::uint64_t size = 3, std::int64_t mtime_ns = kDay1) {
  return {.mode = 0644, .size = size, .mtime_ns = mtime_ns};
}
Entry entry_of(Kind kind, std::int64_t mtime_ns = kDay1) {
  Entry entry{.kind = kind, .mode = 0755, .mtime_ns = mtime_ns};
  if (kind == Kind::char_device || kind == Kind::block_device) entry.rdev_major = 1;
  return entry;
}
Entry link_to(std::string_view target, std::int64_t mtime_ns = kDay1) {
  return {.kind = Kind::link, .mode = 0777, .mtime_ns = mtime_ns, .target = target};
}
/// The same, of another mode (unless it is 0) and owner.
Entry with(Entry entry, std::uint32_t mode, std::uint32_t uid, std::uint32_t gid) {
  if (mode != 0) entry.mode = mode;
  entry.uid = uid;
  entry.gid = gid;
  return entry;
}
Entry with_hash(Entry entry, std::uint8_t first) {
  entry.hash = Hash{first};
  return entry;
}
Entry with_minor(Entry entry, std::uint32_t minor) {
  entry.rdev_minor = minor;
  return entry;
}

struct Pair {
  std::string path;
  std::optional<Entry> src;
  std::optional<Entry> dst;
};

ReportRow row_of(const Pair& pair, const CompareRules& rules = {}) {
  const Entry* src = pair.src ? &*pair.src : nullptr;
  const Entry* dst = pair.dst ? &*pair.dst : nullptr;
  return {.path = pair.path, .src = src, .dst = dst, .comparison = compare(src, dst, rules)};
}

std::string line_of(const Pair& pair, const CompareRules& rules = {}) {
  return itemized_line(row_of(pair, rules));
}

struct Seen {
  Pair pair;
  std::string line;
};

// Printed by rsync 3.5.0 as root, for two folders s and d made so:
//   LC_ALL=C.UTF-8 rsync -rlptgoDn -ii --delete --modify-window=-1 s/ d/
TEST(Itemize, lines_are_those_of_rsync) {
  using enum Kind;
  const std::vector<Seen> table = {
      {{"eq", file_of(), file_of()}, ".f          eq"},
      {{"ns", file_of(), file_of(3, kDay1 + 200'000'000)}, ">f..t...... ns"},
      {{"sz", file_of(3), file_of(4)}, ">f.s....... sz"},
      {{"tm", file_of(), file_of(3, kDay2)}, ">f..t...... tm"},
      {{"tmn", file_of(3, kDay2), file_of()}, ">f..t...... tmn"},
      {{"szt", file_of(3), file_of(4, kDay2)}, ">f.st...... szt"},
      {{"mode", with(file_of(), 0600, 0, 0), file_of()}, ".f...p..... mode"},
      {{"own", with(file_of(), 0, 1, 0), file_of()}, ".f....o.... own"},
      {{"grp", with(file_of(), 0, 0, 1), file_of()}, ".f.....g... grp"},
      {{"attrs", with(file_of(), 07777, 1, 1), file_of()}, ".f...pog... attrs"},
      {{"all", with(file_of(), 07777, 1, 1), file_of(4, kDay2)}, ">f.stpog... all"},
      {{"new", file_of(), {}}, ">f+++++++++ new"},
      {{"newdir", entry_of(folder), {}}, "cd+++++++++ newdir/"},
      {{"newdir/x", file_of(), {}}, ">f+++++++++ newdir/x"},
      {{"newl", link_to("tgt"), {}}, "cL+++++++++ newl -> tgt"},
      {{"newp", entry_of(fifo), {}}, "cS+++++++++ newp"},
      {{"sock", entry_of(socket), {}}, "cS+++++++++ sock"},
      {{"newdev", entry_of(char_device), {}}, "cD+++++++++ newdev"},
      {{"newblk", entry_of(block_device), {}}, "cD+++++++++ newblk"},
      {{"extra", {}, file_of()}, "*deleting   extra"},
      {{"extrad", {}, entry_of(folder)}, "*deleting   extrad/"},
      {{"", entry_of(folder), entry_of(folder)}, ".d          ./"},
      {{"", entry_of(folder), entry_of(folder, kDay2)}, ".d..t...... ./"},
      {{"samed", entry_of(folder), entry_of(folder)}, ".d          samed/"},
      {{"dtime", entry_of(folder), entry_of(folder, kDay2)}, ".d..t...... dtime/"},
      {{"dmode", with(entry_of(folder), 0700, 0, 0), entry_of(folder)}, ".d...p..... dmode/"},
      {{"down", with(entry_of(folder), 0, 1, 1), entry_of(folder)}, ".d....og... down/"},
      {{"dall", with(entry_of(folder), 0700, 1, 1), entry_of(folder, kDay2)}, ".d..tpog... dall/"},
      {{"l", link_to("tgt"), link_to("tgt")}, ".L          l -> tgt"},
      {{"lt", link_to("tgt"), link_to("tgt", kDay2)}, ".L..t...... lt -> tgt"},
      {{"lc", link_to("tgt"), link_to("other")}, "cLc........ lc -> tgt"},
      {{"lct", link_to("tgt"), link_to("other", kDay2)}, "cLc.t...... lct -> tgt"},
      {{"lo", with(link_to("tgt"), 0, 1, 1), link_to("tgt")}, ".L....og... lo -> tgt"},
      {{"lco", with(link_to("tgt"), 0, 1, 1), link_to("ttt")}, "cLc...og... lco -> tgt"},
      {{"p", entry_of(fifo), entry_of(fifo)}, ".S          p"},
      {{"pt", entry_of(fifo), entry_of(fifo, kDay2)}, ".S..t...... pt"},
      {{"pm", with(entry_of(fifo), 0600, 0, 0), entry_of(fifo)}, ".S...p..... pm"},
      {{"dev", entry_of(char_device), entry_of(char_device)}, ".D          dev"},
      {{"devt", entry_of(char_device), entry_of(char_device, kDay2)}, ".D..t...... devt"},
      {{"devn", entry_of(char_device), with_minor(entry_of(char_device), 5)}, "cDc........ devn"},
      {{"devnt", with(entry_of(char_device), 0600, 0, 0),
        with_minor(entry_of(char_device, kDay2), 5)},
       "cDc.tp..... devnt"},
      {{"ne\nw \\#012 \\x \xff \xc3\xa9", file_of(), {}},
       ">f+++++++++ ne\\#012w \\#134#012 \\x \\#377 \xc3\xa9"},
      {{"a\\#01b", file_of(), {}}, ">f+++++++++ a\\#01b"},
      {{"\xc2\x85x", file_of(), {}}, ">f+++++++++ \xc2\x85x"},
      {{"lw", link_to("a\nb"), {}}, "cL+++++++++ lw -> a\\#012b"},
  };
  for (const Seen& seen : table) EXPECT_EQ(line_of(seen.pair), seen.line + "\n");
}

// The same with -c: files that have the same content (1), or another (2).
TEST(Itemize, lines_are_those_of_rsync_with_checksums) {
  const auto one = [](const Entry& entry) { return with_hash(entry, 1); };
  const auto two = [](const Entry& entry) { return with_hash(entry, 2); };
  const std::vector<Seen> table = {
      {{"cont", one(file_of()), two(file_of())}, ">fc........ cont"},
      {{"tm", one(file_of()), one(file_of(3, kDay2))}, ".f..t...... tm"},
      {{"tmc", one(file_of()), two(file_of(3, kDay2))}, ">fc.t...... tmc"},
      {{"sz", file_of(3), file_of(4)}, ">fcs....... sz"},
      {{"szt", file_of(3), file_of(4, kDay2)}, ">fcst...... szt"},
      {{"all", with(file_of(3), 07777, 1, 1), file_of(4, kDay2)}, ">fcstpog... all"},
  };
  for (const Seen& seen : table)
    EXPECT_EQ(line_of(seen.pair, {.checksum = true}), seen.line + "\n");
}

// The same with --size-only.
TEST(Itemize, lines_are_those_of_rsync_with_sizes_only) {
  const std::vector<Seen> table = {
      {{"tm", file_of(), file_of(3, kDay2)}, ".f..t...... tm"},
      {{"sz", file_of(3), file_of(4)}, ">f.s....... sz"},
      {{"szt", file_of(3), file_of(4, kDay2)}, ">f.st...... szt"},
  };
  for (const Seen& seen : table)
    EXPECT_EQ(line_of(seen.pair, {.size_only = true}), seen.line + "\n");
}

// rsync prints the second line of each, and what is in a folder that is in the way.
TEST(Itemize, a_clash_says_what_is_in_the_way) {
  using enum Kind;
  EXPECT_EQ(line_of({"c", file_of(), entry_of(folder)}), "*deleting   c/\n>f+++++++++ c\n");
  EXPECT_EQ(line_of({"c", entry_of(folder), file_of()}), "*deleting   c\ncd+++++++++ c/\n");
  EXPECT_EQ(line_of({"c", link_to("tgt"), file_of()}), "*deleting   c\ncL+++++++++ c -> tgt\n");
  EXPECT_EQ(line_of({"c", file_of(), link_to("tgt")}), "*deleting   c\n>f+++++++++ c\n");
  EXPECT_EQ(line_of({"c", entry_of(fifo), entry_of(char_device)}),
            "*deleting   c\ncS+++++++++ c\n");
}

TEST(Itemize, what_rsync_has_no_line_for) {
  const CompareRules keep{.newer = NewerPolicy::keep};
  EXPECT_EQ(line_of({"n", file_of(3), file_of(4, kDay2)}, keep), ".f.st...... n\n");
  const Entry bad{.kind = Kind::folder, .error = 13};
  const Entry worse{.kind = Kind::folder, .error = 5};
  const Entry out{.kind = Kind::folder, .excluded = true};
  EXPECT_EQ(line_of({"u", bad, {}}), "?unknown    u/ (src: EACCES)\n");
  EXPECT_EQ(line_of({"u", file_of(), bad}), "?unknown    u (dst: EACCES)\n");
  EXPECT_EQ(line_of({"u", bad, worse}), "?unknown    u/ (src: EACCES, dst: EIO)\n");
  EXPECT_EQ(line_of({"u", file_of(), file_of()}, {.checksum = true}),
            "?unknown    u (contents were not read)\n");
  EXPECT_EQ(line_of({"o", out, {}}), "-excluded   o/\n");
  const Pair pair{"u", bad, {}};
  ReportRow row = row_of(pair);
  row.error = "list: EACCES\n";
  EXPECT_EQ(itemized_line(row), "?unknown    u/ (list: EACCES\\#012)\n");
}

TEST(Itemize, an_entry_that_does_not_fit_the_verdict_stops_the_process) {
  const Entry entry = file_of();
  EXPECT_DEATH(itemized_line({.path = "p"}), "check failed");
  EXPECT_DEATH(itemized_line({.path = "p", .src = &entry}), "check failed");
  EXPECT_DEATH(csv_line({.path = "p", .dst = &entry}), "check failed");
  EXPECT_DEATH(
      json_line({.path = "p", .src = &entry, .dst = &entry, .comparison = {Verdict::missing}}),
      "check failed");
}

TEST(ReportJson, a_row_has_all_that_is_known) {
  const Pair pair{"a/b", with(file_of(5), 0600, 1, 2), with_hash(file_of(4, kDay2), 0xab)};
  EXPECT_EQ(json_line(row_of(pair)),
            R"({"path":"a/b","kind":"file","verdict":"content","differences":["size","time",)"
            R"("mode","owner","group"],"src":{"kind":"file","size":5,)"
            R"("mtime":"2024-01-01T00:00:00.500000000Z","mode":"0600","uid":1,"gid":2},)"
            R"("dst":{"kind":"file","size":4,"mtime":"2024-01-02T00:00:00.500000000Z",)"
            R"("mode":"0644","uid":0,"gid":0,"hash":"ab000000000000000000000000000000"},)"
            R"("copy":null,"error":null})"
            "\n");
}

TEST(ReportJson, each_kind_has_its_own_members) {
  const Pair linked{"l", link_to("t\xff"), {}};
  EXPECT_EQ(json_line(row_of(linked)),
            R"({"path":"l","kind":"link","verdict":"missing","differences":[],)"
            R"("src":{"kind":"link","mtime":"2024-01-01T00:00:00.500000000Z","mode":"0777",)"
            "\"uid\":0,\"gid\":0,\"target\":\"t\xef\xbf\xbd\",\"target_bytes\":\"t%FF\"},"
            R"("dst":null,"copy":null,"error":null})"
            "\n");
  Entry named = file_of();
  named.device = 7;
  named.inode = 8;
  const Pair pair{"d", named, with_minor(entry_of(Kind::block_device), 5)};
  const std::string line = json_line(row_of(pair));
  EXPECT_NE(line.find(R"("kind":"file","verdict":"clash")"), line.npos) << line;
  EXPECT_NE(line.find(R"("device":7,"inode":8)"), line.npos) << line;
  EXPECT_NE(line.find(R"("major":1,"minor":5)"), line.npos) << line;
}

TEST(ReportJson, a_path_that_is_not_text_stands_beside_one_that_is) {
  const Pair pair{"a b/\xff%", file_of(), {}};
  const std::string line = json_line(row_of(pair));
  EXPECT_TRUE(line.starts_with("{\"path\":\"a b/\xef\xbf\xbd%\",\"path_bytes\":\"a%20b/%FF%25\","))
      << line;
  EXPECT_TRUE(codec::json::parse(line));
}

TEST(ReportJson, what_is_unknown_says_why) {
  const Pair pair{"u", Entry{.kind = Kind::folder, .error = 13}, {}};
  ReportRow row = row_of(pair);
  row.copy = "skipped";
  EXPECT_EQ(json_line(row),
            R"({"path":"u","kind":"folder","verdict":"unknown","differences":[],)"
            R"("src":{"kind":"folder","error":"EACCES"},"dst":null,"copy":"skipped",)"
            R"("error":"src: EACCES"})"
            "\n");
}

TEST(ReportJson, link_and_device_differences_have_names) {
  const Pair links{"l", link_to("a"), link_to("b")};
  const std::string line = json_line(row_of(links));
  EXPECT_NE(line.find(R"("differences":["target"])"), line.npos) << line;
  const Pair devices{"d", entry_of(Kind::char_device), with_minor(entry_of(Kind::char_device), 2)};
  const std::string device = json_line(row_of(devices));
  EXPECT_NE(device.find(R"("differences":["device"])"), device.npos) << device;
  const Pair contents{"f", with_hash(file_of(), 1), with_hash(file_of(), 2)};
  const std::string content = json_line(row_of(contents, {.checksum = true}));
  EXPECT_NE(content.find(R"("differences":["content"])"), content.npos) << content;
}

TEST(ReportCsv, a_row_has_the_columns_of_the_header) {
  EXPECT_EQ(csv_header(),
            "path,kind,verdict,differences,src_size,dst_size,src_mtime,dst_mtime,copy,error\n");
  const Pair pair{"a/b", file_of(5), file_of(4, kDay2)};
  ReportRow row = row_of(pair);
  row.copy = "failed";
  row.error = "disk full, \"again\"";
  EXPECT_EQ(csv_line(row),
            "a/b,file,content,size time,5,4,2024-01-01T00:00:00.500000000Z,"
            "2024-01-02T00:00:00.500000000Z,failed,\"disk full, \"\"again\"\"\"\n");
  const Pair folder{"d", entry_of(Kind::folder), {}};
  EXPECT_EQ(csv_line(row_of(folder)), "d,folder,missing,,,,2024-01-01T00:00:00.500000000Z,,,\n");
  const Pair bad{"u", {}, Entry{.error = 5}};
  EXPECT_EQ(csv_line(row_of(bad)), "u,file,unknown,,,,,,,dst: EIO\n");
}

TEST(ReportCsv, paths_are_quoted_and_can_be_decoded) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"plain name", "plain name"}, {"a,b", "\"a,b\""},   {"say \"hi\"", "\"say \"\"hi\"\"\""},
      {"a\nb", "\"a\nb\""},         {"a\rb", "\"a\rb\""}, {"\xc3\xa9", "\xc3\xa9"},
      {"\xff/\xc3", "%FF/%C3"},     {"50%", "50%25"},
  };
  for (const auto& [path, cell] : table) {
    const Pair pair{path, file_of(), {}};
    EXPECT_TRUE(csv_line(row_of(pair)).starts_with(cell + ",file,missing,")) << path;
  }
}

TEST(ReportCsv, times_are_written_from_end_to_end) {
  const auto text = [](std::int64_t mtime_ns) {
    const Pair pair{"f", file_of(0, mtime_ns), {}};
    const std::string line = csv_line(row_of(pair));
    return line.substr("f,file,missing,,0,,"s.size(), "2024-01-01T00:00:00.500000000Z"s.size());
  };
  EXPECT_EQ(text(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(text(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(text(951'827'696'000'000'007), "2000-02-29T12:34:56.000000007Z");
  // As `date -u -d @-9223372037` and `date -u -d @9223372036` have them.
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min()), "1677-09-21T00:12:43.145224192Z");
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::max()), "2262-04-11T23:47:16.854775807Z");
}

}  // namespace
}  // namespace sluice::migrate
