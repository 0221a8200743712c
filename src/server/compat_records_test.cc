// SPDX-License-Identifier: MIT
#include "server/compat_records.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

TEST(CompatRecords, a_job_goes_there_and_back) {
  CompatJob job{.data = R"({"a":1})", .listenable = true, .created_ms = 12};
  EXPECT_EQ(decode_compat_job(encode(job))->data, job.data);
  EXPECT_FALSE(decode_compat_job(encode(job))->channel);
  EXPECT_FALSE(decode_compat_job(encode(job))->times_out_ms);
  job.channel = "c";
  job.times_out_ms = -3;
  EXPECT_EQ(decode_compat_job(encode(job))->channel, "c");
  EXPECT_EQ(decode_compat_job(encode(job))->times_out_ms, -3);
  EXPECT_FALSE(decode_compat_job("hello"));
}

TEST(CompatRecords, a_key_that_was_changed_anywhere_is_refused) {
  const QueueKey key{.team = "t", .id = "i", .token = {.job = {}, .claim = 7}};
  const std::string text = encode(key);
  EXPECT_EQ(decode_queue_key(text)->token, key.token);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(decode_queue_key(changed)) << i;
  }
  EXPECT_FALSE(decode_queue_key(""));
}

TEST(CompatRecords, ranges_hold_their_keys_and_no_others) {
  const auto holds = [](const kv::Range& range, const std::string& key) {
    return range.begin <= key && key < range.end;
  };
  EXPECT_TRUE(holds(claims_of("a"), claim_key("a", "t")));
  EXPECT_FALSE(holds(claims_of("a"), claim_key("b", "t")));
  EXPECT_TRUE(holds(teams_of_crawl("c"), crawl_key("c", "t")));
  EXPECT_FALSE(holds(teams_of_crawl("c"), crawl_key(std::string("c\0", 2), "t")));
  EXPECT_FALSE(holds(crawls_after("c"), crawl_key("c", "t")));
  EXPECT_TRUE(holds(crawls_after("c"), crawl_key("ca", "t")));
  const auto until = [&](std::int64_t at, std::int64_t now) {
    return holds(markers_until(Owner::team, "t", now), marker_time_key(Owner::team, "t", at, "i"));
  };
  EXPECT_TRUE(until(5, 5));
  EXPECT_TRUE(until(-5, 5));
  EXPECT_FALSE(until(6, 5));
  EXPECT_FALSE(
      holds(markers_until(Owner::crawl, "t", 9), marker_time_key(Owner::team, "t", 5, "i")));
  EXPECT_EQ(markers_until(marker_count_key(Owner::team, "t"), 5)->end,
            markers_until(Owner::team, "t", 5).end);
  EXPECT_EQ(marked_id(marker_key(Owner::crawl, "c", "job")).value(), "job");
  EXPECT_EQ(crawl_of(crawl_key("c", "t")).value(), "c");
}

}  // namespace
}  // namespace sluice::server
