// SPDX-License-Identifier: MIT
#include "migrate/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sluice::migrate {
namespace {

using Names = std::vector<std::string>;

/// Names as a stream, owned by it.
class NamesStream final : public EntryStream {
 public:
  explicit NamesStream(const Names& names) {
    for (const std::string& name : names) listing_.add({.name = name});
    stream_.emplace(listing_);
  }
  Result<const Entry*> next() override { return stream_->next(); }

 private:
  Listing listing_;
  std::optional<ListingStream> stream_;
};

class FailingStream final : public EntryStream {
 public:
  Result<const Entry*> next() override { return error(Code::corrupt, "damaged"); }
};

Names names_of(EntryStream& stream) {
  Names names;
  for (;;) {
    const auto entry = stream.next();
    EXPECT_TRUE(entry) << entry.error().to_string();
    if (!entry || *entry == nullptr) return names;
    names.emplace_back((*entry)->name);
  }
}

std::unique_ptr<EntryStream> stream_of(const Names& names) {
  return std::make_unique<NamesStream>(names);
}

MergeStream merged(const std::vector<Names>& all) {
  std::vector<std::unique_ptr<EntryStream>> streams;
  for (const Names& names : all) streams.push_back(stream_of(names));
  return MergeStream(std::move(streams));
}

/// Long, so that a chunk holds few; in order.
Names many_names(int count) {
  Names names;
  for (int i = 0; i < count; ++i)
    names.push_back(std::to_string(100'000 + i) + std::string(900, 'n'));
  std::ranges::sort(names);
  return names;
}

Status commit(kv::Store& store, const Change& change) {
  return status_of(store.run([&](kv::Transaction& txn) -> Status {
    change.apply(txn);
    return {};
  }));
}

std::size_t rows(kv::Store& store) {
  std::size_t count = 0;
  EXPECT_EQ(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, reader.scan(kv::Range::all()));
    count = found.size();
    return {};
  }),
            Status());
  return count;
}

/// Builds and commits a block of these names.
BlockBuilder::Built build(kv::Store& store, const BlockBuilder::Place& place, const Names& names) {
  BlockBuilder builder(store, place);
  for (const std::string& name : names) EXPECT_EQ(builder.add({.name = name}), Status());
  Change change;
  const auto built = builder.finish(change);
  EXPECT_TRUE(built);
  EXPECT_EQ(commit(store, change), Status());
  return built.value();
}

// ------------------------------------------------------------------------------------------- merge

TEST(MergeStream, several_streams_come_in_one_order) {
  auto stream = merged({{"b", "d", "f"}, {"a", "e"}, {}, {"c"}});
  EXPECT_EQ(names_of(stream), (Names{"a", "b", "c", "d", "e", "f"}));
}

TEST(MergeStream, a_name_that_several_have_is_told_once) {
  auto stream = merged({{"a", "b", "c"}, {"a", "c"}, {"a"}, {"c", "d"}});
  EXPECT_EQ(names_of(stream), (Names{"a", "b", "c", "d"}));
}

TEST(MergeStream, nothing_merged_is_nothing) {
  auto none = merged({});
  EXPECT_EQ(names_of(none), Names());
  auto empty = merged({{}, {}});
  EXPECT_EQ(names_of(empty), Names());
}

TEST(MergeStream, names_are_compared_as_unsigned_bytes) {
  auto stream = merged({{"\x80", "\xff"}, {"a", "\x81"}});
  EXPECT_EQ(names_of(stream), (Names{"a", "\x80", "\x81", "\xff"}));
}

TEST(MergeStream, a_failure_of_one_is_the_failure_of_all) {
  std::vector<std::unique_ptr<EntryStream>> streams;
  streams.push_back(stream_of({"a"}));
  streams.push_back(std::make_unique<FailingStream>());
  MergeStream stream(std::move(streams));
  EXPECT_EQ(status_of(stream.next()).code(), Code::corrupt);
}

TEST(ListingStream, a_name_that_the_kernel_told_twice_is_told_once) {
  NamesStream stream({"a", "a", "b", "b", "b", "c"});
  EXPECT_EQ(names_of(stream), (Names{"a", "b", "c"}));
}

// -------------------------------------------------------------------------------------------- join

Names joined(const Names& src, const Names& dst) {
  NamesStream s(src);
  NamesStream d(dst);
  Names pairs;
  EXPECT_EQ(join(s, d,
                 [&](const Entry* a, const Entry* b) -> Status {
                   pairs.push_back(std::string(a != nullptr ? a->name : "-") + "/" +
                                   std::string(b != nullptr ? b->name : "-"));
                   return {};
                 }),
            Status());
  return pairs;
}

TEST(Join, each_name_comes_once_with_its_entries) {
  EXPECT_EQ(joined({"a", "b", "d"}, {"b", "c", "d", "e"}),
            (Names{"a/-", "b/b", "-/c", "d/d", "-/e"}));
}

TEST(Join, either_side_may_have_nothing) {
  EXPECT_EQ(joined({}, {"a"}), (Names{"-/a"}));
  EXPECT_EQ(joined({"a"}, {}), (Names{"a/-"}));
  EXPECT_EQ(joined({}, {}), Names());
}

TEST(Join, a_failure_of_the_visitor_ends_it) {
  NamesStream s({"a", "b"});
  NamesStream d({});
  int calls = 0;
  const Status status = join(s, d, [&](const Entry*, const Entry*) -> Status {
    ++calls;
    return {Code::conflict, "enough"};
  });
  EXPECT_EQ(status.code(), Code::conflict);
  EXPECT_EQ(calls, 1);
}

// ------------------------------------------------------------------------------------------ blocks

TEST(Block, small_ones_become_part_of_the_change) {
  const auto store = kv::open_memory();
  BlockBuilder builder(*store, {.id = 5, .generation = 1});
  ASSERT_EQ(builder.add({.name = "a"}), Status());
  Change change;
  const auto built = builder.finish(change);
  EXPECT_EQ(built->chunks, 1u);
  EXPECT_EQ(built->entries, 1u);
  EXPECT_EQ(rows(*store), 0u);
  EXPECT_FALSE(change.empty());
}

TEST(Block, one_without_entries_has_no_chunks) {
  const auto store = kv::open_memory();
  const auto built = build(*store, {.id = 5, .generation = 1}, {});
  EXPECT_EQ(built.chunks, 0u);
  BlockStream stream(*store, {.id = 5, .generation = 1});
  EXPECT_EQ(names_of(stream), Names());
}

TEST(Block, what_was_built_is_read_back_chunk_by_chunk) {
  const auto store = kv::open_memory();
  const Names names = many_names(300);
  const auto built = build(*store, {.id = 5, .generation = 2}, names);
  EXPECT_GT(built.chunks, 3u);
  EXPECT_EQ(built.entries, 300u);
  BlockStream stream(*store, {.id = 5, .generation = 2, .chunks = built.chunks});
  EXPECT_EQ(names_of(stream), names);
}

TEST(Block, most_of_a_large_one_is_written_before_its_change) {
  const auto store = kv::open_memory();
  const Names names = many_names(4'000);
  BlockBuilder builder(*store, {.id = 5, .generation = 1, .in_ledger = true});
  for (const std::string& name : names) ASSERT_EQ(builder.add({.name = name}), Status());
  EXPECT_GT(rows(*store), 30u);
  Change change;
  const auto built = builder.finish(change);
  EXPECT_LT(change.bytes(), std::size_t{3} << 20);
  ASSERT_EQ(commit(*store, change), Status());
  BlockStream stream(*store, {.id = 5, .generation = 1, .chunks = built->chunks});
  EXPECT_EQ(names_of(stream), names);
}

TEST(Block, nothing_is_written_before_its_change_if_the_directory_is_not_in_the_ledger) {
  const auto store = kv::open_memory();
  BlockBuilder builder(*store, {.id = 5, .generation = 1});
  for (const std::string& name : many_names(4'000))
    ASSERT_EQ(builder.add({.name = name}), Status());
  Change change;
  ASSERT_TRUE(builder.finish(change));
  EXPECT_EQ(rows(*store), 0u);
}

TEST(Block, chunks_that_a_killed_process_left_are_gone_when_a_smaller_one_is_built) {
  const auto store = kv::open_memory();
  build(*store, {.id = 5, .generation = 1}, many_names(300));
  const auto built = build(*store, {.id = 5, .generation = 1, .leftovers = true}, many_names(100));
  EXPECT_EQ(rows(*store), built.chunks);
}

TEST(Block, the_chunk_of_each_entry_is_told) {
  const auto store = kv::open_memory();
  const auto built = build(*store, {.id = 5, .generation = 1}, many_names(200));
  BlockStream stream(*store, {.id = 5, .generation = 1, .chunks = built.chunks});
  std::uint32_t last = 0;
  for (;;) {
    const auto entry = stream.next();
    ASSERT_TRUE(entry);
    if (*entry == nullptr) break;
    EXPECT_TRUE(stream.chunk() == last || stream.chunk() == last + 1);
    last = stream.chunk();
  }
  EXPECT_EQ(last, built.chunks - 1);
}

TEST(Block, a_missing_chunk_is_corrupt) {
  const auto store = kv::open_memory();
  const auto built = build(*store, {.id = 5, .generation = 1}, {"a"});
  BlockStream stream(*store, {.id = 5, .generation = 1, .chunks = built.chunks + 1});
  ASSERT_TRUE(stream.next());
  EXPECT_EQ(status_of(stream.next()).code(), Code::corrupt);
}

TEST(Block, a_first_chunk_that_is_at_hand_is_not_read_again) {
  const auto store = kv::open_memory();
  ChunkWriter writer;
  ASSERT_TRUE(writer.add({.name = "a"}));
  BlockStream stream(*store, {.id = 5, .generation = 1, .chunks = 1}, writer.finish());
  EXPECT_EQ(names_of(stream), Names{"a"});
}

// ------------------------------------------------------------------------------------------ sorter

/// Takes the names a page at a time.
void take(Sorter& sorter, const Names& names, std::size_t page = 10) {
  for (std::size_t i = 0; i < names.size();) {
    sorter.page().clear();
    for (std::size_t end = std::min(names.size(), i + page); i < end; ++i)
      sorter.page().add({.name = names[i]});
    ASSERT_EQ(sorter.take_page(), Status());
  }
}

Names shuffled(Names names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    std::swap(names[i], names[i * 7'919 % names.size()]);
  return names;
}

TEST(Sorter, what_fits_in_memory_is_sorted_there) {
  const auto store = kv::open_memory();
  Sorter sorter(*store, {.id = 5});
  take(sorter, shuffled(many_names(100)));
  EntryStream& sorted = sorter.finish();
  EXPECT_EQ(names_of(sorted), many_names(100));
  EXPECT_EQ(rows(*store), 0u);
}

TEST(Sorter, what_does_not_fit_is_sorted_by_way_of_the_ledger) {
  const auto store = kv::open_memory();
  Sorter sorter(*store, {.id = 5, .bytes_max = 50'000});
  take(sorter, shuffled(many_names(1'000)));
  EXPECT_GT(rows(*store), 10u);
  EntryStream& sorted = sorter.finish();
  EXPECT_EQ(names_of(sorted), many_names(1'000));
}

TEST(Sorter, a_name_in_several_runs_is_told_once) {
  const auto store = kv::open_memory();
  Sorter sorter(*store, {.id = 5, .bytes_max = 1'000});
  for (int repeat = 0; repeat < 3; ++repeat) take(sorter, many_names(20));
  EntryStream& sorted = sorter.finish();
  EXPECT_EQ(names_of(sorted), many_names(20));
}

TEST(Sorter, its_runs_leave_with_the_change) {
  const auto store = kv::open_memory();
  Sorter sorter(*store, {.id = 5, .bytes_max = 1'000});
  take(sorter, many_names(50));
  ASSERT_GT(rows(*store), 0u);
  Change change;
  sorter.clean(change);
  ASSERT_EQ(commit(*store, change), Status());
  EXPECT_EQ(rows(*store), 0u);
}

TEST(Sorter, runs_of_a_listing_that_failed_leave_with_the_change_too) {
  const auto store = kv::open_memory();
  Sorter sorter(*store, {.id = 5, .bytes_max = 1'000});
  take(sorter, many_names(50));
  sorter.restart();
  EntryStream& sorted = sorter.finish();
  EXPECT_EQ(names_of(sorted), Names());
  Change change;
  sorter.clean(change);
  ASSERT_EQ(commit(*store, change), Status());
  EXPECT_EQ(rows(*store), 0u);
}

TEST(Sorter, runs_are_gone_at_once_for_another_attempt) {
  const auto store = kv::open_memory();
  Sorter sorter(*store, {.id = 5, .bytes_max = 1'000});
  take(sorter, many_names(50));
  ASSERT_EQ(sorter.discard(), Status());
  EXPECT_EQ(rows(*store), 0u);
}

TEST(Sorter, runs_that_a_killed_process_left_are_not_taken_for_its_own) {
  const auto store = kv::open_memory();
  {
    Sorter killed(*store, {.id = 5, .bytes_max = 1'000});
    take(killed, many_names(200));
  }
  Sorter sorter(*store, {.id = 5, .bytes_max = 1'000, .leftovers = true});
  take(sorter, many_names(30));
  EntryStream& sorted = sorter.finish();
  EXPECT_EQ(names_of(sorted), many_names(30));
  Change change;
  sorter.clean(change);
  ASSERT_EQ(commit(*store, change), Status());
  EXPECT_EQ(rows(*store), 0u);
}

TEST(Sorter, both_sides_of_a_directory_have_runs_of_their_own) {
  const auto store = kv::open_memory();
  Sorter src(*store, {.side = Side::src, .id = 5, .bytes_max = 1'000});
  Sorter dst(*store, {.side = Side::dst, .id = 5, .bytes_max = 1'000});
  take(src, many_names(30));
  take(dst, many_names(60));
  EXPECT_EQ(names_of(src.finish()), many_names(30));
  EXPECT_EQ(names_of(dst.finish()), many_names(60));
}

}  // namespace
}  // namespace sluice::migrate
