// SPDX-License-Identifier: MIT
// Reading the stream of events, for its tests.
#pragma once

#include <sluice/queue.h>

#include <cstddef>
#include <string>
#include <vector>

#include "queue/keys.h"
#include "queue/testing.h"

namespace sluice::queue {

using Lines = std::vector<std::string>;

inline std::string line_of(const Event& event) {
  return event.id + " " + (event.from ? lane_name(*event.from) : "-") + " " + lane_name(event.to) +
         " " + std::to_string(event.attempt);
}

inline Lines lines_of(const std::vector<Event>& events) {
  Lines lines;
  for (const Event& event : events) lines.push_back(line_of(event));
  return lines;
}

/// Everything after the cursor, read by pages of `limit`.
inline std::vector<Event> read_all(const Bench& bench, std::string after = {},
                                   std::size_t limit = 100) {
  std::vector<Event> all;
  for (;;) {
    const EventPage page = must(bench->events({.queue = "q", .after = after, .limit = limit}));
    EXPECT_FALSE(page.gap);
    EXPECT_LE(page.events.size(), limit);
    if (page.events.empty()) return all;
    EXPECT_EQ(page.next, page.events.back().cursor);
    after = page.next;
    all.insert(all.end(), page.events.begin(), page.events.end());
  }
}

inline std::size_t stored_events(const Bench& bench) {
  return stored(bench, "q", Space::event);
}

}  // namespace sluice::queue
