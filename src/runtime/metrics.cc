// SPDX-License-Identifier: MIT
#include <sluice/runtime/metrics.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/collect.h"

namespace sluice::runtime {
namespace {

constexpr unsigned kLeastBits = 10;
constexpr unsigned kMostBits = 36;

const char* type_name(Metric::Type type) {
  switch (type) {
    case Metric::Type::counter:
      return "counter";
    case Metric::Type::gauge:
      return "gauge";
    case Metric::Type::histogram:
      return "histogram";
  }
  return "untyped";
}

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quotes)
      out += "\\\"";
    else
      out += c;
  }
  return out;
}

/// The braces and what is in them; `le` is one more label if it is not empty.
std::string labels_text(const Metric& metric, std::string_view le = {}) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value, true));
  };
  for (const auto& [name, value] : metric.labels) add(name, value);
  if (!le.empty()) add("le", le);
  return text.empty() ? text : "{" + text + "}";
}

void write(std::string& text, const Metric& metric) {
  if (metric.type != Metric::Type::histogram) {
    text += fmt::format("{}{} {}\n", metric.name, labels_text(metric), metric.value);
    return;
  }
  for (const Metric::Bucket& bucket : metric.buckets)
    text += fmt::format("{}_bucket{} {}\n", metric.name,
                        labels_text(metric, fmt::format("{}", bucket.le)), bucket.count);
  text += fmt::format("{}_bucket{} {}\n", metric.name, labels_text(metric, "+Inf"), metric.count);
  text += fmt::format("{}_sum{} {}\n", metric.name, labels_text(metric), metric.sum);
  text += fmt::format("{}_count{} {}\n", metric.name, labels_text(metric), metric.count);
}

}  // namespace

std::string prometheus_text(std::span<const Metric> metrics) {
  std::map<std::string_view, std::vector<const Metric*>> by_name;
  for (const Metric& metric : metrics) by_name[metric.name].push_back(&metric);
  std::string text;
  for (const auto& [name, same] : by_name) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(same[0]->help, false), name,
                        type_name(same[0]->type));
    for (const Metric* metric : same) write(text, *metric);
  }
  return text;
}

Metric seconds_metric(std::string name, std::string help, MetricLabels labels,
                      const Histogram& nanoseconds) {
  Metric metric{.name = std::move(name),
                .help = std::move(help),
                .type = Metric::Type::histogram,
                .labels = std::move(labels)};
  for (unsigned bits = kLeastBits; bits <= kMostBits; ++bits) {
    const std::uint64_t bound = std::uint64_t{1} << bits;
    // What is measured is whole nanoseconds: below the bound is at most one less.
    metric.buckets.push_back(
        {.le = static_cast<double>(bound - 1) / 1e9, .count = nanoseconds.count_below(bound)});
  }
  // Measurements go on meanwhile: no bucket may show more than the last one, +Inf.
  metric.count = std::max(nanoseconds.count(), metric.buckets.back().count);
  metric.sum = static_cast<double>(nanoseconds.sum()) / 1e9;
  return metric;
}

void Collection::add(Metric::Type type, std::string name, std::string help, double value,
                     MetricLabels labels) {
  metrics_.push_back({.name = std::move(name),
                      .help = std::move(help),
                      .type = type,
                      .labels = std::move(labels),
                      .value = value});
}

void Collection::seconds(std::string name, std::string help, const Histogram& nanoseconds,
                         MetricLabels labels) {
  if (nanoseconds.count() == 0) return;
  metrics_.push_back(
      seconds_metric(std::move(name), std::move(help), std::move(labels), nanoseconds));
}

}  // namespace sluice::runtime
