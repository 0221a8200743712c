// SPDX-License-Identifier: MIT
// Announces, answers and the engine's own loop on threads of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/run_size.h"
#include "tracker/forward_testing.h"

namespace sluice::tracker {
namespace {

/// Answers on its own thread, as fast as it can; every seventh request before announce() returns.
class ThreadTransport final : public UpstreamTransport {
 public:
  void announce(const UpstreamRequest&, Done done) override {
    if (++count_ % 7 == 0) return done(answer());
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
    arrived_.notify_one();
  }

 private:
  static UpstreamResult answer() {
    UpstreamResult result{.outcome = UpstreamOutcome::ok};
    result.peers.v4 = "abcd12";
    return result;
  }
  void loop(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (arrived_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
      const Done done = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      done(answer());
      lock.lock();
    }
  }

  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Done> waiting_;
  std::jthread thread_{[this](const std::stop_token& stop) { loop(stop); }};
};

TEST(ForwardThreads, announces_and_answers_meet_from_several_threads) {
  const auto hashes = static_cast<std::uint32_t>(test::RunSize{20, 100, 2'000}.pick());
  ManualClock clock;
  SeededRandom random(1);
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::uint64_t> notified{0};
  ForwardOptions options = plain_options();
  options.queue_capacity = 1'000'000;
  auto transport = std::make_unique<ThreadTransport>();
  Forwarder forwarder(options, {.clock = &clock,
                                .random = &random,
                                .transport = transport.get(),
                                .wake =
                                    [&] {
                                      ++word;
                                      word.notify_one();
                                    },
                                .on_peers = [&](const InfoHash&) { ++notified; }});
  ASSERT_TRUE(forwarder.reload(upstreams_of(10)).ok());
  std::jthread owner([&](const std::stop_token& stop) {
    for (;;) {
      const std::uint32_t seen = word;
      forwarder.run_due();
      if (stop.stop_requested()) return;
      word.wait(seen);
    }
  });
  const std::uint64_t all = std::uint64_t{4} * hashes * 10;
  {
    std::vector<std::jthread> clients;
    for (std::uint32_t peer = 0; peer < 4; ++peer)
      clients.emplace_back([&, peer] {
        for (std::uint32_t hash = 0; hash < hashes; ++hash) {
          forwarder.on_announce({.hash = hash_of(hash), .peer = peer_of(peer)}, HashSeen::before);
          forwarder.peers_of(hash_of(hash), 10);
        }
      });
  }
  while (forwarder.insight().jobs.succeeded < all) std::this_thread::yield();
  while (notified < all) std::this_thread::yield();
  for (std::uint32_t hash = 0; hash < hashes; ++hash)
    EXPECT_EQ(forwarder.peers_of(hash_of(hash), 10).v4, "abcd12");
  forwarder.stop_all(1h);
  while (forwarder.pending() > 0) std::this_thread::yield();
  EXPECT_TRUE(forwarder.verify().ok());
  EXPECT_EQ(forwarder.insight().jobs.succeeded, 2 * all);
  owner.request_stop();
  ++word;
  word.notify_one();
  owner.join();
  transport.reset();
}

TEST(ForwardThreads, an_answer_that_comes_after_the_end_is_ignored) {
  ManualClock clock;
  SeededRandom random(1);
  SimTransport transport(clock);
  {
    Forwarder forwarder(plain_options(),
                        {.clock = &clock, .random = &random, .transport = &transport});
    ASSERT_TRUE(forwarder.reload(upstreams_of(3)).ok());
    forwarder.on_announce({.hash = hash_of(1)}, HashSeen::first);
    forwarder.run_due();
  }
  EXPECT_EQ(transport.in_flight(), 3u);
  transport.deliver();
}

}  // namespace
}  // namespace sluice::tracker
