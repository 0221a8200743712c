// SPDX-License-Identifier: MIT
#include "retracker/stats_ask.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using Format = StatsAsk::Format;

struct Read {
  bool good = false;
  Format format = {};
  std::size_t rows = 0;
  friend bool operator==(const Read&, const Read&) = default;
};

Read read(std::string_view query, std::string_view accept = {}) {
  const auto ask = read_stats_ask(query, accept);
  return ask ? Read{true, ask->format, ask->rows} : Read();
}

TEST(StatsAsk, each_format_has_its_number_of_rows) {
  EXPECT_EQ(read(""), (Read{true, Format::text, 10}));
  EXPECT_EQ(read("format=text"), (Read{true, Format::text, 10}));
  EXPECT_EQ(read("format=json"), (Read{true, Format::json, 100}));
  EXPECT_EQ(read("format=html").format, Format::page);
  EXPECT_EQ(read("format=json&limit=7"), (Read{true, Format::json, 7}));
  EXPECT_EQ(read("limit=0&other&format=json"), (Read{true, Format::json, 0}));
}

TEST(StatsAsk, browsers_get_a_page_unless_they_name_a_format) {
  EXPECT_EQ(read("", "text/html,*/*").format, Format::page);
  EXPECT_EQ(read("format=json", "text/html").format, Format::json);
  EXPECT_EQ(read("format=text", "text/html").format, Format::text);
}

TEST(StatsAsk, limits_at_their_edges) {
  EXPECT_EQ(read("limit=10000").rows, kTableRowsMax);
  for (const char* query : {"limit=10001", "limit=", "limit=-1", "limit=1x", "limit= 1",
                            "limit=99999999999999999999999", "format=xml", "format="}) {
    const auto ask = read_stats_ask(query, "");
    ASSERT_FALSE(ask) << query;
    EXPECT_EQ(ask.error().code(), Code::invalid_argument);
  }
}

}  // namespace
}  // namespace sluice::cli
