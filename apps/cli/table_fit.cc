// SPDX-License-Identifier: MIT
#include "cli/table_fit.h"

#include <algorithm>

namespace sluice::cli {
namespace {

struct Candidate {
  std::size_t index;
  unsigned priority;
  std::size_t width;
  std::size_t least;
};

std::size_t gaps(std::span<const Candidate> columns) {
  return columns.empty() ? 0 : kColumnGap * (columns.size() - 1);
}

std::size_t total(std::span<const Candidate> columns, std::size_t Candidate::* part) {
  std::size_t sum = gaps(columns);
  for (const Candidate& column : columns) sum += column.*part;
  return sum;
}

// No column needs more than the whole terminal. That keeps the sums small, and shrink() short.
std::vector<Candidate> candidates(std::span<const Column> columns,
                                  std::span<const NaturalWidth> natural, std::size_t width) {
  std::vector<Candidate> result;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t all = natural[i].all;
    const std::size_t kept = std::max(columns[i].width_min, natural[i].title);
    const std::size_t least = columns[i].may_cut ? std::min(all, kept) : all;
    // One more than the terminal has does not fit just as well as any other number.
    const std::size_t cap = width == kWidthUnlimited ? width : width + 1;
    result.push_back({.index = i,
                      .priority = columns[i].priority,
                      .width = std::min(all, cap),
                      .least = std::min(least, cap)});
  }
  return result;
}

void drop_by_priority(std::vector<Candidate>& columns, std::size_t width) {
  while (total(columns, &Candidate::least) > width) {
    // The last of equals: max_element gives the first, so it looks from the end.
    const auto last =
        std::max_element(columns.rbegin(), columns.rend(),
                         [](const auto& a, const auto& b) { return a.priority < b.priority; });
    if (last == columns.rend() || last->priority == 0) return;
    columns.erase(std::next(last).base());
  }
}

// Even the least does not fit: everything may be cut to one column, and at last the end dropped.
void give_up_least(std::vector<Candidate>& columns, std::size_t width) {
  if (total(columns, &Candidate::least) <= width) return;
  for (Candidate& column : columns) column.least = std::min<std::size_t>(column.least, 1);
  while (columns.size() > 1 && total(columns, &Candidate::least) > width) columns.pop_back();
}

// The widest that may still give way gives one column, the last of equals, until all fits.
void shrink(std::span<Candidate> columns, std::size_t width) {
  for (std::size_t sum = total(columns, &Candidate::width); sum > width; --sum) {
    Candidate* widest = nullptr;
    for (Candidate& column : columns) {
      if (column.width > column.least && (!widest || column.width >= widest->width)) {
        widest = &column;
      }
    }
    if (!widest) return;
    --widest->width;
  }
}

}  // namespace

std::vector<FittedColumn> fit(std::span<const Column> columns,
                              std::span<const NaturalWidth> natural, std::size_t width) {
  std::vector<Candidate> kept = candidates(columns, natural, width);
  drop_by_priority(kept, width);
  give_up_least(kept, width);
  shrink(kept, width);
  std::vector<FittedColumn> fitted;
  for (const Candidate& column : kept) {
    fitted.push_back({.index = column.index, .width = std::min(column.width, width)});
  }
  return fitted;
}

}  // namespace sluice::cli
