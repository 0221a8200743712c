// SPDX-License-Identifier: MIT
#include "tracker/upstream_failure.h"

#include <utility>

#include "tracker/upstream_answer.h"

namespace sluice::tracker {

UpstreamResult unreachable(std::string reason) {
  return {.outcome = UpstreamOutcome::unreachable, .reason = std::move(reason)};
}

UpstreamResult refused(std::string reason) {
  return {.outcome = UpstreamOutcome::refused, .reason = std::move(reason)};
}

std::string spoken(std::string_view text, std::string_view otherwise) {
  std::string clean(text.substr(0, kUpstreamTextBytesMax));
  for (char& c : clean)
    if ((c >= '\0' && c < ' ') || c == '\x7f') c = ' ';
  const std::size_t first = clean.find_first_not_of(' ');
  if (first == std::string::npos) return std::string(otherwise);
  return clean.substr(first, clean.find_last_not_of(' ') - first + 1);
}

}  // namespace sluice::tracker
