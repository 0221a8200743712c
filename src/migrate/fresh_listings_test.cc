// SPDX-License-Identifier: MIT
#include "migrate/fresh_listings.h"

#include <gtest/gtest.h>

namespace sluice::migrate {
namespace {

std::string chunk_of(FreshListings& fresh, FolderId id) {
  const auto taken = fresh.take(id);
  return taken ? taken->chunk : "none";
}

TEST(FreshListings, what_was_put_is_taken_once) {
  FreshListings fresh;
  fresh.put(7, {.block = {.status = TraversalStatus::successful, .generation = 3, .chunks = 1},
                .chunk = "seven"});
  const auto taken = fresh.take(7);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->block.status, TraversalStatus::successful);
  EXPECT_EQ(taken->block.generation, 3);
  EXPECT_EQ(taken->chunk, "seven");
  EXPECT_FALSE(fresh.take(7));
  EXPECT_FALSE(fresh.take(8));
}

TEST(FreshListings, the_later_one_of_a_directory_counts) {
  FreshListings fresh;
  fresh.put(7, {.chunk = "old"});
  fresh.put(7, {.chunk = "new"});
  EXPECT_EQ(chunk_of(fresh, 7), "new");
  EXPECT_EQ(chunk_of(fresh, 7), "none");
}

TEST(FreshListings, the_oldest_go_when_there_are_too_many_bytes) {
  FreshListings fresh;
  const std::string chunk(FreshListings::kBytesMax / 4, 'x');
  for (FolderId id = 1; id <= 4; ++id) fresh.put(id, {.chunk = chunk});
  EXPECT_EQ(chunk_of(fresh, 1), "none");
  EXPECT_EQ(chunk_of(fresh, 2), chunk);
  EXPECT_EQ(chunk_of(fresh, 3), chunk);
  EXPECT_EQ(chunk_of(fresh, 4), chunk);
}

TEST(FreshListings, empty_ones_are_bounded_too) {
  FreshListings fresh;
  for (FolderId id = 1; id <= 100'000; ++id) fresh.put(id, {});
  EXPECT_EQ(chunk_of(fresh, 1), "none");
  EXPECT_EQ(chunk_of(fresh, 100'000), "");
}

TEST(FreshListings, those_that_were_taken_leave_room_for_others) {
  FreshListings fresh;
  const std::string chunk(FreshListings::kBytesMax / 4, 'x');
  for (FolderId id = 1; id <= 100; ++id) {
    fresh.put(id, {.chunk = chunk});
    EXPECT_EQ(chunk_of(fresh, id), chunk);
  }
  for (FolderId id = 201; id <= 203; ++id) fresh.put(id, {.chunk = chunk});
  EXPECT_EQ(chunk_of(fresh, 201), chunk);
}

}  // namespace
}  // namespace sluice::migrate
