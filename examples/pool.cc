// SPDX-License-Identifier: MIT
// A pool of workers that fetches from hosts: retries with backoff, a breaker for each host, a limit
// on how often, and no page twice at the same time.
#include <sluice/runtime.h>

#include <atomic>
#include <iostream>
#include <string>

using namespace std::chrono_literals;
using namespace sluice;
using runtime::Outcome;
using runtime::Work;

int main() {
  runtime::Breakers breakers({.policy = {.failures_in_row = 3, .cooldown = 1h}});
  runtime::Limiter limiter({.limit = {.tokens = 1000, .per = 1s, .burst = 100}});
  std::atomic<int> calls_to_bad{0};

  const auto fetch = [&](const Work<>& work) -> Outcome {
    const std::string& host = work.payload;
    const auto breaker = breakers.get(host);
    if (!breaker) return breaker.error();
    auto call = (*breaker)->admit();
    if (!call) return Outcome::fail(call.error().message());
    if (const auto take = limiter.take(host); !take.taken) return Outcome::retry("too often", 1ms);
    if (host == "bad.example") {
      ++calls_to_bad;
      call->failed("connection refused");
      return Outcome::retry("connection refused");
    }
    call->succeeded();
    return Outcome::done();
  };

  runtime::ThreadExecutor threads;
  runtime::Pool<> pool(threads,
                       {.workers = {.base = 2, .max = 8},
                        .retry = {.attempts_max = 10, .backoff = {.base = 1ms, .jitter = 0}}},
                       fetch);
  for (int page = 0; page < 100; ++page)
    (void)pool.enqueue({.id = "page-" + std::to_string(page), .payload = "good.example"});
  (void)pool.enqueue({.id = "x", .payload = "bad.example", .dedup_key = "x"});
  const auto twice = pool.enqueue({.id = "x", .payload = "bad.example", .dedup_key = "x"});
  std::cout << "again: " << (twice ? "taken" : twice.error().to_string()) << "\n";

  while (pool.counts().done + pool.counts().failed < 101) system_clock().sleep_for(1ms, {});
  std::cout << pool.counts().done << " done, " << pool.counts().failed << " failed\n"
            << "calls to bad.example: " << calls_to_bad << "\n"
            << "its breaker: " << breakers.list()[0].second.reason << "\n";
}
