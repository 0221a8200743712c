// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/runtime/metrics.h>

#include <string>
#include <utility>
#include <vector>

#include "base/histogram.h"

namespace sluice::runtime {

/// A histogram of nanoseconds as a metric in seconds. Its buckets are the powers of two from about
/// a microsecond to about a minute.
Metric seconds_metric(std::string name, std::string help,
                      std::vector<std::pair<std::string, std::string>> labels,
                      const Histogram& nanoseconds);

}  // namespace sluice::runtime
