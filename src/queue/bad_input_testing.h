// SPDX-License-Identifier: MIT
// Bad input and what it must get: a code, a message, and a store in which nothing has changed.
#pragma once

#include <gtest/gtest.h>
#include <sluice/queue.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {

/// One call and the code that it must get.
struct Case {
  std::string name;
  Code code;
  std::function<Status(const Bench&)> call;
};

// A refused call must leave every key as it was, and a message.
inline void try_case(const Bench& bench, const Case& one) {
  SCOPED_TRACE(one.name);
  const Dump before = dump(bench);
  const Status status = one.call(bench);
  EXPECT_EQ(code_name(status.code()), std::string(code_name(one.code))) << status.to_string();
  if (status.ok()) return;
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(dump(bench), before);
}

// Each case meets the same queue: one job in each lane that matters.
struct Scene {
  Bench bench;
  Token token = {};  ///< Of the job "leased".
};

inline Scene scene(EngineKind engine) {
  using namespace std::chrono_literals;
  Scene made{.bench = open_bench(engine)};
  const Bench& bench = made.bench;
  must(bench->configure("work", {.done_retention = 1h, .dead_retention = 1h}));
  must(status_of(bench->enqueue({.queue = "work", .id = "leased"})));
  made.token = must_claim(bench, "work").token;
  must(status_of(bench->enqueue({.queue = "work", .id = "ready"})));
  must(status_of(bench->enqueue({.queue = "work", .id = "held", .hold = true})));
  must(status_of(bench->enqueue({.queue = "work", .id = "scheduled", .delay = 1h})));
  must(status_of(bench->enqueue({.queue = "work", .id = "cancelled"})));
  must(bench->cancel({"work", "cancelled"}));
  return made;
}

inline void try_each(EngineKind engine, const std::function<std::vector<Case>(Token)>& cases) {
  for (std::size_t i = 0;; ++i) {
    const Scene fresh = scene(engine);
    const std::vector<Case> all = cases(fresh.token);
    if (i == all.size()) break;
    try_case(fresh.bench, all[i]);
    EXPECT_EQ(breaches(fresh.bench), "") << all[i].name;
  }
}

}  // namespace sluice::queue
