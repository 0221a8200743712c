// SPDX-License-Identifier: MIT
#include "migrate/compare.h"

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace sluice::migrate {

std::ostream& operator<<(std::ostream& out, const Comparison& comparison) {
  return out << verdict_name(comparison.verdict) << " " << comparison.differences;
}

namespace {

using enum Verdict;

constexpr std::int64_t kNoon = 1'700'000'000'000'000'000;
constexpr Hash kSomeHash{1};
constexpr Hash kOtherHash{2};
constexpr CompareRules kUsual;
constexpr CompareRules kSizeOnly{.size_only = true};
constexpr CompareRules kChecksum{.checksum = true};
constexpr CompareRules kKeep{.newer = NewerPolicy::keep};
constexpr CompareRules kSizeOnlyKeep{.size_only = true, .newer = NewerPolicy::keep};
constexpr CompareRules kChecksumKeep{.checksum = true, .newer = NewerPolicy::keep};

Entry entry_of(Kind kind) {
  Entry entry{.name = "name", .kind = kind, .mode = 0644, .mtime_ns = kNoon};
  if (kind == Kind::file) entry.size = 100;
  if (kind == Kind::file) entry.hash = kSomeHash;
  if (kind == Kind::link) entry.target = "target";
  if (kind == Kind::char_device || kind == Kind::block_device) entry.rdev_major = 1;
  return entry;
}

Comparison compared(const Entry& src, const Entry& dst, const CompareRules& rules = {}) {
  return compare(&src, &dst, rules);
}

constexpr Kind kKinds[] = {Kind::file,   Kind::folder,      Kind::link,        Kind::fifo,
                           Kind::socket, Kind::char_device, Kind::block_device};

/// Where the destination's file stands to the source's.
enum class When { older, equal, newer };
enum class Content { same, other, resized };

struct FileCase {
  const char* what;
  CompareRules rules;
  When when;
  Content content;
  Verdict verdict;
  unsigned differences;
};

constexpr unsigned kST = kDiffSize | kDiffTime;
constexpr unsigned kCS = kDiffContent | kDiffSize;
constexpr unsigned kCT = kDiffContent | kDiffTime;
constexpr unsigned kCST = kDiffContent | kDiffSize | kDiffTime;

// Every time, every content, every rule. Where rsync has the rule, the differences are what
// `rsync -rlptgoDn -i [-c | --size-only]` shows of the same pair.
constexpr FileCase kFileCases[] = {
    {"usual", kUsual, When::equal, Content::same, same, 0},
    {"usual", kUsual, When::equal, Content::other, same, 0},
    {"usual", kUsual, When::equal, Content::resized, content, kDiffSize},
    {"usual", kUsual, When::older, Content::same, content, kDiffTime},
    {"usual", kUsual, When::older, Content::other, content, kDiffTime},
    {"usual", kUsual, When::older, Content::resized, content, kST},
    {"usual", kUsual, When::newer, Content::same, content, kDiffTime},
    {"usual", kUsual, When::newer, Content::other, content, kDiffTime},
    {"usual", kUsual, When::newer, Content::resized, content, kST},

    {"size_only", kSizeOnly, When::equal, Content::same, same, 0},
    {"size_only", kSizeOnly, When::equal, Content::other, same, 0},
    {"size_only", kSizeOnly, When::equal, Content::resized, content, kDiffSize},
    {"size_only", kSizeOnly, When::older, Content::same, attributes, kDiffTime},
    {"size_only", kSizeOnly, When::older, Content::other, attributes, kDiffTime},
    {"size_only", kSizeOnly, When::older, Content::resized, content, kST},
    {"size_only", kSizeOnly, When::newer, Content::same, attributes, kDiffTime},
    {"size_only", kSizeOnly, When::newer, Content::other, attributes, kDiffTime},
    {"size_only", kSizeOnly, When::newer, Content::resized, content, kST},

    {"checksum", kChecksum, When::equal, Content::same, same, 0},
    {"checksum", kChecksum, When::equal, Content::other, content, kDiffContent},
    {"checksum", kChecksum, When::equal, Content::resized, content, kCS},
    {"checksum", kChecksum, When::older, Content::same, attributes, kDiffTime},
    {"checksum", kChecksum, When::older, Content::other, content, kCT},
    {"checksum", kChecksum, When::older, Content::resized, content, kCST},
    {"checksum", kChecksum, When::newer, Content::same, attributes, kDiffTime},
    {"checksum", kChecksum, When::newer, Content::other, content, kCT},
    {"checksum", kChecksum, When::newer, Content::resized, content, kCST},

    {"keep", kKeep, When::equal, Content::same, same, 0},
    {"keep", kKeep, When::equal, Content::other, same, 0},
    {"keep", kKeep, When::equal, Content::resized, content, kDiffSize},
    {"keep", kKeep, When::older, Content::same, content, kDiffTime},
    {"keep", kKeep, When::older, Content::other, content, kDiffTime},
    {"keep", kKeep, When::older, Content::resized, content, kST},
    {"keep", kKeep, When::newer, Content::same, newer, kDiffTime},
    {"keep", kKeep, When::newer, Content::other, newer, kDiffTime},
    {"keep", kKeep, When::newer, Content::resized, newer, kST},

    {"size_only keep", kSizeOnlyKeep, When::newer, Content::same, attributes, kDiffTime},
    {"size_only keep", kSizeOnlyKeep, When::newer, Content::resized, newer, kST},
    {"size_only keep", kSizeOnlyKeep, When::older, Content::resized, content, kST},
    {"checksum keep", kChecksumKeep, When::newer, Content::same, attributes, kDiffTime},
    {"checksum keep", kChecksumKeep, When::newer, Content::other, newer, kCT},
    {"checksum keep", kChecksumKeep, When::newer, Content::resized, newer, kCST},
    {"checksum keep", kChecksumKeep, When::older, Content::other, content, kCT},
    {"checksum keep", kChecksumKeep, When::equal, Content::other, content, kDiffContent},
};

TEST(Compare, files_by_time_content_and_rule) {
  for (const FileCase& row : kFileCases) {
    const Entry src = entry_of(Kind::file);
    Entry dst = src;
    if (row.when == When::older) dst.mtime_ns -= 1;
    if (row.when == When::newer) dst.mtime_ns += 1;
    if (row.content != Content::same) dst.hash = kOtherHash;
    if (row.content == Content::resized) dst.size += 1;
    const Comparison expected{.verdict = row.verdict,
                              .differences = static_cast<std::uint16_t>(row.differences)};
    EXPECT_EQ(compared(src, dst, row.rules), expected)
        << row.what << ", time " << static_cast<int>(row.when) << ", content "
        << static_cast<int>(row.content);
  }
}

TEST(Compare, equal_time_and_equal_size_is_never_copied_unless_contents_count) {
  for (const CompareRules& rules : {kUsual, kSizeOnly, kKeep, kSizeOnlyKeep}) {
    const Entry src = entry_of(Kind::file);
    Entry dst = src;
    dst.hash = kOtherHash;
    dst.mode = 0600;
    dst.uid = 1;
    EXPECT_EQ(compared(src, dst, rules).verdict, attributes);
  }
}

TEST(Compare, entries_of_every_two_kinds_clash) {
  for (const Kind a : kKinds) {
    for (const Kind b : kKinds) {
      for (const CompareRules& rules : {kUsual, kSizeOnly, kChecksum, kKeep}) {
        Entry dst = entry_of(b);
        EXPECT_EQ(compared(entry_of(a), dst, rules), (Comparison{a == b ? same : clash}));
        dst.mtime_ns += 5;
        EXPECT_EQ(compared(entry_of(a), dst, rules).verdict == clash, a != b);
      }
    }
  }
}

TEST(Compare, attributes_of_every_kind) {
  for (const Kind kind : kKinds) {
    const Entry src = entry_of(kind);
    const std::string what(kind_name(kind));
    Entry dst = src;
    dst.mode = 0600;
    const Comparison mode =
        kind == Kind::link ? Comparison{same} : Comparison{attributes, kDiffMode};
    EXPECT_EQ(compared(src, dst), mode) << what;
    EXPECT_EQ(compared(src, dst, {.modes = false}), Comparison{same}) << what;
    dst = src;
    dst.uid = 1;
    EXPECT_EQ(compared(src, dst), (Comparison{attributes, kDiffOwner})) << what;
    dst.gid = 1;
    EXPECT_EQ(compared(src, dst), (Comparison{attributes, kDiffOwner | kDiffGroup})) << what;
    EXPECT_EQ(compared(src, dst, {.owners = false}), Comparison{same}) << what;
    dst.uid = 0;
    EXPECT_EQ(compared(src, dst), (Comparison{attributes, kDiffGroup})) << what;
    dst = src;
    dst.mtime_ns += 1;
    const Verdict late = kind == Kind::file ? content : attributes;
    EXPECT_EQ(compared(src, dst), (Comparison{late, kDiffTime})) << what;
    EXPECT_EQ(compared(src, dst, {.times = false}),
              (kind == Kind::file ? Comparison{content, kDiffTime} : Comparison{same}))
        << what;
    EXPECT_EQ(compared(src, dst, {.newer = NewerPolicy::keep}).verdict,
              kind == Kind::file ? newer : attributes)
        << what;
  }
}

TEST(Compare, all_attributes_at_once) {
  const Entry src = entry_of(Kind::folder);
  Entry dst = src;
  dst.mtime_ns = 0;
  dst.mode = 0700;
  dst.uid = dst.gid = 9;
  EXPECT_EQ(compared(src, dst),
            (Comparison{attributes, kDiffTime | kDiffMode | kDiffOwner | kDiffGroup}));
}

TEST(Compare, a_link_is_its_target) {
  const Entry src = entry_of(Kind::link);
  Entry dst = src;
  dst.target = "elsewhere";
  EXPECT_EQ(compared(src, dst), (Comparison{content, kDiffTarget}));
  EXPECT_EQ(compared(src, dst, kSizeOnly), (Comparison{content, kDiffTarget}));
  dst.mtime_ns += 1;
  dst.uid = 1;
  dst.mode = 0;
  EXPECT_EQ(compared(src, dst, kKeep), (Comparison{content, kDiffTarget | kDiffTime | kDiffOwner}));
}

TEST(Compare, a_device_is_its_numbers) {
  for (const Kind kind : {Kind::char_device, Kind::block_device}) {
    const Entry src = entry_of(kind);
    Entry dst = src;
    dst.rdev_major = 2;
    EXPECT_EQ(compared(src, dst), (Comparison{content, kDiffDevice}));
    dst = src;
    dst.rdev_minor = 2;
    dst.mode = 0600;
    dst.mtime_ns += 1;
    EXPECT_EQ(compared(src, dst, kKeep),
              (Comparison{content, kDiffDevice | kDiffMode | kDiffTime}));
  }
}

TEST(Compare, what_belongs_to_another_kind_does_not_count) {
  for (const Kind kind : kKinds) {
    const Entry src = entry_of(kind);
    Entry dst = src;
    if (kind != Kind::file) dst.size = 4096;
    if (kind != Kind::file) dst.hash = kOtherHash;
    if (kind != Kind::link) dst.target = "other";
    if (kind != Kind::char_device && kind != Kind::block_device) dst.rdev_major = 9;
    dst.name = "other";
    dst.device = dst.inode = dst.id = 77;
    for (const CompareRules& rules : {kUsual, kSizeOnly, kChecksum})
      EXPECT_EQ(compared(src, dst, rules), Comparison{same}) << kind_name(kind);
  }
}

TEST(Compare, times_within_the_window_are_the_same) {
  const Entry src = entry_of(Kind::file);
  const CompareRules rules{.window_ns = 10, .newer = NewerPolicy::keep};
  for (const int apart : {-10, -1, 0, 1, 10}) {
    Entry dst = src;
    dst.mtime_ns += apart;
    EXPECT_EQ(compared(src, dst, rules), Comparison{same}) << apart;
    dst.size += 1;
    EXPECT_EQ(compared(src, dst, rules), (Comparison{content, kDiffSize})) << apart;
  }
  Entry dst = src;
  dst.mtime_ns += 11;
  EXPECT_EQ(compared(src, dst, rules), (Comparison{newer, kDiffTime}));
  dst.mtime_ns = src.mtime_ns - 11;
  EXPECT_EQ(compared(src, dst, rules), (Comparison{content, kDiffTime}));
}

TEST(Compare, times_may_be_as_far_apart_as_times_get) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Entry src = entry_of(Kind::file);
  Entry dst = src;
  src.mtime_ns = kMin;
  dst.mtime_ns = kMax;
  EXPECT_EQ(compared(src, dst, kKeep), (Comparison{newer, kDiffTime}));
  EXPECT_EQ(compared(dst, src, kKeep), (Comparison{content, kDiffTime}));
  EXPECT_EQ(compared(src, dst, {.window_ns = kMax}), (Comparison{content, kDiffTime}));
  dst.mtime_ns = -1;
  EXPECT_EQ(compared(src, dst, {.window_ns = kMax}), Comparison{same});
}

TEST(Compare, a_hash_that_is_missing_makes_a_file_unknown) {
  const Entry hashed = entry_of(Kind::file);
  Entry bare = hashed;
  bare.hash.reset();
  bare.mode = 0600;
  EXPECT_EQ(compared(hashed, bare, kChecksum), Comparison{unknown});
  EXPECT_EQ(compared(bare, hashed, kChecksum), Comparison{unknown});
  EXPECT_EQ(compared(bare, bare, kChecksum), Comparison{unknown});
  EXPECT_EQ(compared(bare, bare), Comparison{same});
  Entry other = bare;
  other.size += 1;
  EXPECT_EQ(compared(bare, other, kChecksum), (Comparison{content, kCS})) << "no need to read it";
}

TEST(Compare, what_is_on_one_side_only) {
  for (const Kind kind : kKinds) {
    const Entry entry = entry_of(kind);
    for (const CompareRules& rules : {kUsual, kSizeOnly, kChecksum, kKeep}) {
      EXPECT_EQ(compare(&entry, nullptr, rules), Comparison{missing});
      EXPECT_EQ(compare(nullptr, &entry, rules), Comparison{extra});
    }
  }
}

TEST(Compare, what_cannot_be_read_is_unknown_on_whichever_side) {
  const Entry good = entry_of(Kind::folder);
  const Entry bad{.name = "name", .error = 13};
  EXPECT_EQ(compared(good, bad), Comparison{unknown});
  EXPECT_EQ(compared(bad, good), Comparison{unknown});
  EXPECT_EQ(compared(bad, bad), Comparison{unknown});
  EXPECT_EQ(compare(&bad, nullptr, {}), Comparison{unknown});
  EXPECT_EQ(compare(nullptr, &bad, {}), Comparison{unknown}) << "an extra would be deleted";
}

TEST(Compare, what_is_excluded_is_nothing_else) {
  const Entry good = entry_of(Kind::file);
  Entry out = entry_of(Kind::folder);
  out.excluded = true;
  out.error = 13;
  EXPECT_EQ(compared(good, out), Comparison{excluded});
  EXPECT_EQ(compared(out, good), Comparison{excluded});
  EXPECT_EQ(compare(&out, nullptr, {}), Comparison{excluded});
  EXPECT_EQ(compare(nullptr, &out, {}), Comparison{excluded});
}

TEST(Compare, nothing_at_all_and_a_negative_window_stop_the_process) {
  const Entry entry = entry_of(Kind::file);
  EXPECT_DEATH(compare(nullptr, nullptr, {}), "check failed");
  EXPECT_DEATH(compare(&entry, &entry, {.window_ns = -1}), "check failed");
}

TEST(Compare, verdicts_and_kinds_have_names_of_their_own) {
  std::set<std::string_view> names;
  for (const Verdict verdict :
       {same, attributes, content, missing, extra, clash, newer, unknown, excluded})
    names.insert(verdict_name(verdict));
  EXPECT_EQ(names.size(), 9u);
  for (const Kind kind : kKinds) names.insert(kind_name(kind));
  EXPECT_EQ(names.size(), 16u);
  EXPECT_EQ(verdict_name(clash), "clash");
  EXPECT_EQ(kind_name(Kind::folder), "folder");
}

}  // namespace
}  // namespace sluice::migrate
