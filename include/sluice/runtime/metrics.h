// SPDX-License-Identifier: MIT
// What the parts of the runtime count, as plain values and as text for Prometheus.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// One measured number, or one histogram, as it was when it was collected.
struct Metric {
  enum class Type : std::uint8_t { counter, gauge, histogram };

  /// So many measurements were at most `le`; the counts add up from bucket to bucket.
  struct Bucket {
    double le = 0;
    std::uint64_t count = 0;
  };

  std::string name = {};
  std::string help = {};
  Type type = Type::gauge;
  std::vector<std::pair<std::string, std::string>> labels = {};
  double value = 0;                  ///< Of a counter or gauge.
  std::vector<Bucket> buckets = {};  ///< Of a histogram, without the last one, +Inf.
  std::uint64_t count = 0;           ///< Of a histogram.
  double sum = 0;                    ///< Of a histogram, in seconds.
};

/// The text exposition format, version 0.0.4. Metrics of one name stand together and are described
/// once, whatever their order here.
std::string prometheus_text(std::span<const Metric> metrics);

}  // namespace sluice::runtime
