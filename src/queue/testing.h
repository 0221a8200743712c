// SPDX-License-Identifier: MIT
// What tests of the queue layer begin with: fresh queues on an engine of any kind, at a time that
// the test moves, with chance that repeats itself.
#pragma once

#include <gtest/gtest.h>
#include <sluice/queue.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/conformance/engines.h"
#include "queue/keys.h"
#include "queue/names.h"

namespace sluice::queue {

using kv::engine_name;
using kv::EngineKind;

/// The engines that queue tests run on.
inline constexpr EngineKind kEngines[] = {EngineKind::memory_serial, EngineKind::memory_optimistic,
                                          EngineKind::lmdb};

/// Queues with all that they need to live. Store time is clock->wall().
struct Bench {
  std::unique_ptr<ManualClock> clock = {};
  std::unique_ptr<SeededRandom> random = {};
  kv::Opened opened = {};
  std::unique_ptr<Queues> queues = {};

  Queues* operator->() const { return queues.get(); }
  kv::Store& store() const { return *opened.store; }
  WallTime now() const { return clock->wall(); }
  void advance(Duration duration) const { clock->advance(duration); }
};

inline Bench open_bench(EngineKind kind, std::uint64_t seed = 1) {
  Bench bench{.clock = std::make_unique<ManualClock>(),
              .random = std::make_unique<SeededRandom>(seed)};
  bench.opened = kv::open_engine(kind, *bench.clock);
  auto queues = Queues::open(bench.store(), {.random = bench.random.get()});
  EXPECT_TRUE(queues) << queues.error().to_string();
  bench.queues = std::move(*queues);
  return bench;
}

/// A suite that runs once on each of kEngines: INSTANTIATE_ON_ENGINES(Suite).
class OnEngines : public testing::TestWithParam<EngineKind> {
 protected:
  Bench open() const { return open_bench(GetParam()); }
};

#define INSTANTIATE_ON_ENGINES(suite)                                                          \
  INSTANTIATE_TEST_SUITE_P(On, suite, testing::ValuesIn(::sluice::queue::kEngines),            \
                           [](const auto& instance) {                                          \
                             return std::string(::sluice::queue::engine_name(instance.param)); \
                           })

/// Every key and value of the store, to compare before with after.
using Dump = std::vector<kv::KeyValue>;

inline Dump dump(const Bench& bench) {
  return kv::all_committed(bench.opened);
}

/// Nothing, or what verify() found, for EXPECT_EQ(breaches(bench), "").
inline std::string breaches(const Bench& bench) {
  const auto report = verify(bench.store());
  if (!report) return report.error().to_string();
  return report->clean() ? "" : report->to_text();
}

inline void must(const Status& status) {
  EXPECT_TRUE(status.ok()) << status.to_string();
}

/// The value, which must be there.
template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << result.error().to_string();
  return result ? std::move(*result) : T{};
}

inline Code code_of(const Result<std::string>& result) {
  return status_of(result).code();
}

/// How many entries of the space the queue has.
inline std::size_t stored(const Bench& bench, const std::string& queue, Space space) {
  std::size_t count = 0;
  must(bench.store().read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(entries, reader.scan(Keys(hash_of(queue)).all(space)));
    count = entries.size();
    return {};
  }));
  return count;
}

/// Claims one job of the queue, which must be there.
inline Lease must_claim(const Bench& bench, const std::string& queue,
                        std::optional<Duration> lease = {}) {
  auto leases = must(bench->claim({.queues = {queue}, .lease = lease, .worker = "worker"}));
  EXPECT_EQ(leases.size(), 1u) << "a job of " << queue;
  return leases.empty() ? Lease{} : std::move(leases.front());
}

using Ids = std::vector<std::string>;

/// The ids that claims get, one by one, until there is nothing more to claim.
inline Ids claim_all(const Bench& bench, const std::string& queue) {
  Ids ids;
  for (;;) {
    const auto leases = must(bench->claim({.queues = {queue}}));
    if (leases.empty()) return ids;
    for (const Lease& lease : leases) ids.push_back(lease.id);
  }
}

/// A job's lane by name, or "absent".
inline std::string lane_of(const Bench& bench, const JobRef& ref) {
  const auto job = bench->get(ref);
  if (job) return lane_name(job->lane);
  EXPECT_EQ(job.error().code(), Code::not_found) << job.error().to_string();
  return "absent";
}

}  // namespace sluice::queue
