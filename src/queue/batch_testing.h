// SPDX-License-Identifier: MIT
// One batch that the tests of batches open, fill and look at.
#pragma once

#include <sluice/queue.h>

#include <string>

#include "queue/testing.h"

namespace sluice::queue {

inline const BatchRef kBatch{"q", "b"};

/// The batch "b" of queue "q", with a callback for success and one for the end, in queue "cb".
inline void open_b(const Bench& bench) {
  EXPECT_EQ(must(bench->open_batch({.queue = "q",
                                    .id = "b",
                                    .on_success = NewJob{.queue = "cb", .id = "success"},
                                    .on_end = NewJob{.queue = "cb", .id = "end"}})),
            "b");
}

inline void add(const Bench& bench, const Ids& ids) {
  for (const std::string& id : ids) must(bench->enqueue({.queue = "q", .id = id, .batch = "b"}));
}

inline void ack_one(const Bench& bench) {
  must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
}

inline void kill_one(const Bench& bench) {
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .dead = true}));
}

inline Batch look_b(const Bench& bench) {
  return must(bench->get_batch(kBatch));
}

/// The callbacks that exist: "success", "end".
inline Ids called_back(const Bench& bench) {
  Ids ids;
  for (const char* id : {"success", "end"})
    if (lane_of(bench, {"cb", id}) == "ready") ids.push_back(id);
  return ids;
}

}  // namespace sluice::queue
