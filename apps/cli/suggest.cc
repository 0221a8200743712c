// SPDX-License-Identifier: MIT
#include "cli/suggest.h"

#include <algorithm>
#include <array>

#include "cli/visible.h"

namespace sluice::cli {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// Half of a short word: otherwise every word of two letters would be near every other.
std::size_t distance_max(std::size_t length) {
  return std::max(std::min<std::size_t>(2, length / 2), length / 3);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between the beginnings of `a` and of `b`: row i is for the
  // first i letters of `a`, and needs only the two rows before it.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t>& row = rows[i % 3];
    const std::vector<std::size_t>& above = rows[(i - 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::vector<std::string> closest(std::string_view word,
                                 std::span<const std::string_view> candidates) {
  std::vector<std::string> nearest;
  if (word.empty() || word.size() > kSuggestWordBytesMax) return nearest;
  const std::string typed = lower(word);
  std::size_t best = std::max<std::size_t>(1, distance_max(word.size()));
  for (const std::string_view candidate : candidates) {
    const std::string known = lower(candidate);
    std::size_t distance = edit_distance(typed, known);
    if (known.starts_with(typed)) {
      distance = std::min<std::size_t>(distance, 1);
    } else if (distance > distance_max(word.size())) {
      continue;
    }
    if (distance > best) continue;
    if (distance < best) nearest.clear();
    best = distance;
    if (nearest.size() < kSuggestionsMax) nearest.emplace_back(candidate);
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::vector<std::string> nearest = closest(word, candidates);
  if (nearest.empty()) return "";
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += i + 1 == nearest.size() ? " or " : ", ";
    text += in_quotes(nearest[i]);
  }
  return text + "?";
}

}  // namespace sluice::cli
