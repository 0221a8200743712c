// SPDX-License-Identifier: MIT
// The table that a benchmark prints, its bars, and the copy of the table in docs/benchmarks.md.
#pragma once

#include <sluice/result.h>

#include <optional>
#include <string>
#include <vector>

#include "bench.h"

namespace sluice::bench {

/// A figure and the limit that it must keep.
struct Bar {
  enum class Kind : char { at_least, at_most };

  std::string name;
  Kind kind = Kind::at_least;
  double limit = 0;

  bool kept_by(double figure) const {
    return kind == Kind::at_least ? figure >= limit : figure <= limit;
  }
};

/// One line of the table. The figure is what the bar judges; often the ratio of ours to the peer's.
struct Row {
  std::string what;
  std::string ours;
  std::string peer = {};
  std::optional<double> figure = {};
  std::optional<Bar> bar = {};
};

/// A number with about three digits that matter and its thousands apart: 0.12, 3.46, 21.9, 15,204.
std::string number(double value);

class Report {
 public:
  explicit Report(std::string name) : name_(std::move(name)) {}

  /// A row with a bar needs a figure.
  void add(Row row) { rows_.push_back(std::move(row)); }

  /// Prints the table and the bars; returns whether every bar is kept.
  bool print() const;

  /// Puts the table, and on what machine and when it was measured, between the marks
  /// `<!-- NAME:begin -->` and `<!-- NAME:end -->` of `file`.
  Status write_markdown(const std::string& file) const;

 private:
  std::string name_;
  std::vector<Row> rows_;
};

}  // namespace sluice::bench
