// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/runtime/metrics.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.h"

namespace sluice::runtime {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// A histogram of nanoseconds as a metric in seconds. Its buckets are the powers of two from about
/// a microsecond to about a minute.
Metric seconds_metric(std::string name, std::string help, MetricLabels labels,
                      const Histogram& nanoseconds);

/// What a program measures, on its way into text. Not thread-safe.
class Collection {
 public:
  template <class Number>
  void gauge(std::string name, std::string help, Number value, MetricLabels labels = {}) {
    add(Metric::Type::gauge, std::move(name), std::move(help), static_cast<double>(value),
        std::move(labels));
  }
  void counter(std::string name, std::string help, std::uint64_t value, MetricLabels labels = {}) {
    add(Metric::Type::counter, std::move(name), std::move(help), static_cast<double>(value),
        std::move(labels));
  }
  /// One without measurements is left out.
  void seconds(std::string name, std::string help, const Histogram& nanoseconds,
               MetricLabels labels = {});
  /// As prometheus_text() writes it.
  std::string text() const { return prometheus_text(metrics_); }

 private:
  void add(Metric::Type type, std::string name, std::string help, double value,
           MetricLabels labels);

  std::vector<Metric> metrics_;
};

}  // namespace sluice::runtime
