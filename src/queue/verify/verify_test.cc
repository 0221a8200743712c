// SPDX-License-Identifier: MIT
// verify() finds whatever is missing, damaged or too much, key by key.
#include <sluice/queue.h>

#include <set>

#include "codec/tuple.h"
#include "queue/keys.h"
#include "queue/names.h"
#include "queue/records.h"
#include "queue/testing.h"
#include "queue/verify/full_store.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

std::set<Space> spaces_of(const Dump& entries) {
  std::set<Space> spaces;
  for (const auto& entry : entries) {
    codec::TupleReader reader(std::string_view(entry.key).substr(1));
    spaces.insert(static_cast<Space>(must(reader.number<std::uint8_t>())));
  }
  return spaces;
}

Space space_of(const std::string& key) {
  return *spaces_of({{key, ""}}).begin();
}

/// Verifies the store with one key changed, and puts it back.
VerifyReport verify_with(const Bench& bench, const std::string& key,
                         const std::optional<std::string>& value) {
  const auto before = kv::committed(bench.opened, key);
  const auto set = [&](const std::optional<std::string>& to) {
    kv::must_run(bench.opened, [&](kv::Transaction& txn) -> Status {
      if (to)
        txn.put(key, *to);
      else
        txn.erase(key);
      return {};
    });
  };
  set(value);
  VerifyReport report = must(verify(bench.store()));
  set(before);
  return report;
}

// Nothing else says that these ought to be there.
const std::set<Space> kMayBeMissing = {Space::bucket, Space::operation, Space::worker,
                                       Space::round,  Space::claimer,   Space::trimmed};

TEST(Verify, the_full_store_has_every_space) {
  const Bench bench = open_full();
  std::set<Space> spaces = spaces_of(dump(bench));
  spaces.insert(Space::debt);  // It has a test of its own.
  const auto count = [](Space first, Space last) {
    return static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1;
  };
  EXPECT_EQ(spaces.size(),
            count(Space::header, Space::claimer) + count(Space::agenda, Space::trimmed));
}

TEST(Verify, finds_every_key_that_is_missing) {
  const Bench bench = open_full();
  for (const auto& entry : dump(bench)) {
    const Space space = space_of(entry.key);
    if (kMayBeMissing.contains(space)) continue;
    if (space == Space::schedule && must(decode_schedule(entry.value)).paused) continue;
    const bool zero = entry.value == std::string(8, '\0');
    const bool count = space == Space::count || space == Space::group_count ||
                       space == Space::batch_count || space == Space::event_count;
    const VerifyReport report = verify_with(bench, entry.key, std::nullopt);
    if (count && zero) continue;  // Absent is zero.
    EXPECT_FALSE(report.clean()) << "space " << static_cast<int>(space) << " " << to_hex(entry.key);
  }
  EXPECT_EQ(breaches(bench), "");
}

TEST(Verify, finds_every_flipped_bit_of_a_value) {
  const Bench bench = open_full();
  SeededRandom random(7);
  for (const auto& entry : dump(bench)) {
    const Space space = space_of(entry.key);
    if (entry.value.empty() || space == Space::round) continue;
    std::size_t bytes = entry.value.size();
    // The place of a job that is not ready is compared with nothing; no checksum covers it.
    if (space == Space::job) bytes -= kv::kMarkBytes;
    for (int i = 0; i < 8; ++i) {
      std::string damaged = entry.value;
      char& byte = damaged[random.below(bytes)];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
      const VerifyReport report = verify_with(bench, entry.key, damaged);
      EXPECT_FALSE(report.clean())
          << "space " << static_cast<int>(space) << " " << to_hex(entry.key);
    }
  }
}

TEST(Verify, finds_an_entry_that_leads_to_another_job_or_none) {
  const Bench bench = open_full();
  for (const auto& entry : dump(bench)) {
    const Space space = space_of(entry.key);
    if (kMayBeMissing.contains(space) || space == Space::header || space == Space::slot) continue;
    if (space == Space::count) continue;  // Its last byte is a lane.
    std::string key = entry.key;
    key.back() = static_cast<char>(key.back() ^ 1);
    if (kv::committed(bench.opened, key)) continue;
    const VerifyReport report = verify_with(bench, key, entry.value);
    EXPECT_FALSE(report.clean()) << "space " << static_cast<int>(space) << " " << to_hex(key);
  }
}

TEST(Verify, finds_a_slot_too_many_and_a_debt_that_nobody_owes) {
  const Bench bench = open_full();
  const Keys keys(hash_of("plain"));
  EXPECT_FALSE(verify_with(bench, keys.slot(0, hash_of("x"), 1), "").clean());
  EXPECT_FALSE(verify_with(bench, keys.debt(), std::string("\1\0\0\0\0\0\0\0", 8)).clean());
  EXPECT_FALSE(verify_with(bench, keys.review(), "").clean());
  EXPECT_FALSE(verify_with(bench, Keys(hash_of("all")).review(), std::nullopt).clean());
}

TEST(Verify, finds_a_key_of_an_unknown_space_and_of_an_unknown_queue) {
  const Bench bench = open_full();
  const std::string space = std::string(1, kKeyPrefix) + codec::TupleWriter().number(60).take();
  EXPECT_EQ(verify_with(bench, space, "").breaches.at(0).invariant, "I1");
  EXPECT_FALSE(verify_with(bench, Keys(hash_of("none")).job(hash_of("x")), "").clean());
}

TEST(Verify, describes_the_first_breaches_and_counts_all) {
  const Bench bench = open_full();
  const auto jobs = must(bench->list({.queue = "plain"})).jobs;
  kv::must_run(bench.opened, [&](kv::Transaction& txn) -> Status {
    txn.erase_range(space_range(Space::id));
    return {};
  });
  const VerifyReport report = must(verify(bench.store(), {.breaches_max = 3}));
  EXPECT_EQ(report.breaches.size(), 3u);
  EXPECT_GE(report.breach_count, jobs.size());
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_EQ(report.breaches[0].invariant, "I3");
  EXPECT_NE(report.to_text().find("does not lead to its job"), std::string::npos);
  EXPECT_NE(report.to_json().find("\"breach_count\":" + std::to_string(report.breach_count)),
            std::string::npos);
  EXPECT_NE(report.to_json().find("{\"invariant\":\"I3\",\"key\":\"fe15"), std::string::npos);
}

TEST(Verify, of_a_store_without_queues_misses_only_the_header) {
  const kv::Opened store = kv::open_engine(EngineKind::memory_serial);
  const VerifyReport report = must(verify(*store.store));
  EXPECT_EQ(report.breach_count, 1u);
}

}  // namespace
}  // namespace sluice::queue
