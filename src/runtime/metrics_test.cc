// SPDX-License-Identifier: MIT
#include <sluice/runtime/metrics.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/collect.h"

namespace sluice::runtime {
namespace {

TEST(Metrics, of_one_name_stand_together_under_one_description) {
  const std::vector<Metric> metrics = {
      {.name = "b_total", .help = "Bees.", .type = Metric::Type::counter, .value = 3},
      {.name = "a", .help = "Ants.", .labels = {{"hill", "1"}}, .value = 0.5},
      {.name = "b_total", .help = "Bees.", .type = Metric::Type::counter, .labels = {{"x", "y"}}},
      {.name = "a", .help = "Ants.", .labels = {{"hill", "2"}, {"kind", "red"}}, .value = -1}};
  EXPECT_EQ(prometheus_text(metrics),
            "# HELP a Ants.\n# TYPE a gauge\na{hill=\"1\"} 0.5\na{hill=\"2\",kind=\"red\"} -1\n"
            "# HELP b_total Bees.\n# TYPE b_total counter\nb_total 3\nb_total{x=\"y\"} 0\n");
}

TEST(Metrics, text_that_means_something_to_the_format_is_escaped) {
  const std::vector<Metric> metrics = {
      {.name = "m", .help = "a\\b\n\"c\"", .labels = {{"l", "a\\b\n\"c\""}}, .value = 1}};
  EXPECT_EQ(prometheus_text(metrics),
            "# HELP m a\\\\b\\n\"c\"\n# TYPE m gauge\nm{l=\"a\\\\b\\n\\\"c\\\"\"} 1\n");
}

TEST(Metrics, a_histogram_counts_up_from_bucket_to_bucket) {
  Histogram histogram;
  for (const std::uint64_t ns : {500u, 1023u, 1024u, 2'000'000u}) histogram.record(ns);
  histogram.record(std::uint64_t{100} * 1'000'000'000);
  const Metric metric = seconds_metric("m_seconds", "M.", {}, histogram);
  EXPECT_EQ(metric.buckets.front().count, 2u);
  EXPECT_EQ(metric.buckets[1].count, 3u);
  EXPECT_EQ(metric.buckets.back().count, 4u);
  EXPECT_EQ(metric.count, 5u);
  EXPECT_NEAR(metric.sum, 100.002, 0.001);
  const std::string text = prometheus_text({&metric, 1});
  EXPECT_NE(text.find("m_seconds_bucket{le=\"1.023e-06\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("m_seconds_bucket{le=\"+Inf\"} 5\nm_seconds_sum "), std::string::npos);
  EXPECT_NE(text.find("m_seconds_count 5\n"), std::string::npos);
}

TEST(Metrics, a_collection_keeps_the_kinds_apart_and_leaves_out_what_was_not_measured) {
  Histogram empty;
  Histogram one;
  one.record(1'000);
  Collection all;
  all.gauge("a", "Ants.", std::size_t{2}, {{"hill", "1"}});
  all.counter("b_total", "Bees.", 3);
  all.seconds("c_seconds", "Crows.", empty);
  all.seconds("d_seconds", "Days.", one, {{"x", "y"}});
  const std::string text = all.text();
  EXPECT_EQ(text.find("# HELP a Ants.\n# TYPE a gauge\na{hill=\"1\"} 2\n"
                      "# HELP b_total Bees.\n# TYPE b_total counter\nb_total 3\n"
                      "# HELP d_seconds Days.\n# TYPE d_seconds histogram\n"),
            0u)
      << text;
  EXPECT_NE(text.find("d_seconds_count{x=\"y\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace sluice::runtime
