// SPDX-License-Identifier: MIT
// Random announces, expiries and snapshots, each compared with a reference that is plainly right:
// a map of peers for each hash.
#include <gtest/gtest.h>
#include <sluice/random.h>

#include <iostream>
#include <map>
#include <memory>

#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tracker/snapshot.h"
#include "tracker/swarms.h"
#include "tracker/swarms_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAge = 30min;

struct Entry {
  PeerId id = {};
  bool is_seeder = false;
  bool has_completed = false;
  MonoTime seen = {};
};

struct Reference {
  std::map<Endpoint, Entry> peers = {};
  std::uint32_t downloads = 0;

  Counts counts() const {
    Counts counts{.downloads = downloads};
    for (const auto& [endpoint, peer] : peers)
      ++(peer.is_seeder ? counts.seeders : counts.leechers);
    return counts;
  }
};

class Pair {
 public:
  explicit Pair(SeededRandom& random)
      : random_(random), swarms_(std::make_unique<Swarms>(SwarmsOptions{.age = kAge}, random)) {}

  void step() {
    const std::uint64_t what = random_.below(10'000);
    if (what < 9'600) return announce();
    if (what < 9'900) return clock_.advance(random_.below(20) * 1s);
    if (what < 9'902) return clock_.advance(kAge / 2);
    if (what < 9'960) return look();
    if (what < 9'998) return expire();
    start_again();
  }

 private:
  Announce draw() {
    // A few hashes with many peers, many with few.
    const auto hash =
        static_cast<std::uint32_t>(random_.chance(0.7) ? random_.below(3) : random_.below(200));
    Announce announce = announce_of(hash,
                                    static_cast<std::uint32_t>(random_.below(hash == 0  ? 300
                                                                             : hash < 3 ? 40
                                                                                        : 12)),
                                    random_.chance(0.3));
    announce.peer = id_number(static_cast<std::uint32_t>(random_.below(1000)));
    announce.left = random_.below(2);
    announce.event = static_cast<Event>(random_.below(4));
    if (random_.chance(0.8)) announce.wanted = static_cast<std::uint32_t>(random_.below(80));
    return announce;
  }
  void announce() {
    const Announce announce = draw();
    const AnnounceOptions options{
        .wanted_default = 20, .wanted_max = 60, .both_families = random_.chance(0.3)};
    Counts counts;
    std::vector<Endpoint> given;
    if (random_.chance(0.2)) {
      std::vector<Peer> peers;
      counts = swarms_->announce(announce, clock_.mono(), options, peers);
      for (const Peer& peer : peers) {
        const auto& known = reference_[announce.hash].peers;
        const auto found = known.find(peer.endpoint);
        ASSERT_NE(found, known.end());
        ASSERT_EQ(peer.id, found->second.id);
        ASSERT_EQ(peer.is_seeder, found->second.is_seeder);
        given.push_back(peer.endpoint);
      }
    } else {
      counts = swarms_->announce(announce, clock_.mono(), options, list_);
      given = endpoints_of(list_);
    }
    ASSERT_EQ(counts, enter(announce));
    check(announce, options, given);
    if (reference_[announce.hash].peers.empty()) reference_.erase(announce.hash);
  }
  Counts enter(const Announce& announce) {
    Reference& swarm = reference_[announce.hash];
    if (announce.event == Event::stopped) {
      swarm.peers.erase(announce.endpoint);
      return swarm.counts();
    }
    Entry& entry = swarm.peers[announce.endpoint];
    entry.id = announce.peer;
    entry.is_seeder = announce.left == 0;
    entry.seen = clock_.mono();
    if (announce.event == Event::completed && !entry.has_completed) {
      entry.has_completed = true;
      ++swarm.downloads;
    }
    return swarm.counts();
  }
  void check(const Announce& announce, const AnnounceOptions& options,
             const std::vector<Endpoint>& given) {
    std::size_t others = 0;
    const auto may_be_given = [&](const Endpoint& endpoint, const Entry& entry) {
      return announce.event != Event::stopped && endpoint != announce.endpoint &&
             (announce.left != 0 || !entry.is_seeder) &&
             (options.both_families || endpoint.is_v6 == announce.endpoint.is_v6);
    };
    const auto& peers = reference_[announce.hash].peers;
    for (const auto& [endpoint, entry] : peers) others += may_be_given(endpoint, entry) ? 1 : 0;
    ASSERT_EQ(given.size(),
              std::min<std::size_t>(others, std::min(announce.wanted.value_or(20), 60u)));
    ASSERT_EQ(std::set<Endpoint>(given.begin(), given.end()).size(), given.size());
    for (const Endpoint& endpoint : given) {
      const auto found = peers.find(endpoint);
      ASSERT_NE(found, peers.end());
      ASSERT_TRUE(may_be_given(endpoint, found->second));
    }
  }
  void expire() {
    for (Expired expired; !expired.round_over;)
      expired = swarms_->expire(clock_.mono(), 1 + random_.below(500));
    forget_old();
    look();
  }
  void forget_old() {
    for (auto& [hash, swarm] : reference_)
      std::erase_if(swarm.peers,
                    [&](const auto& peer) { return clock_.mono() - peer.second.seen >= kAge; });
    std::erase_if(reference_, [](const auto& swarm) { return swarm.second.peers.empty(); });
  }
  void look() {
    Totals totals{.swarms = reference_.size()};
    for (const auto& [hash, swarm] : reference_) {
      ASSERT_EQ(swarms_->scrape(hash), swarm.counts());
      totals.peers += swarm.peers.size();
      totals.seeders += swarm.counts().seeders;
      for (const auto& [endpoint, entry] : swarm.peers) totals.peers_v6 += endpoint.is_v6 ? 1 : 0;
    }
    ASSERT_EQ(swarms_->totals(), totals);
  }
  void start_again() {
    ASSERT_TRUE(write_snapshot(*swarms_, dir_ / "snapshot", clock_));
    swarms_ = std::make_unique<Swarms>(SwarmsOptions{.age = kAge}, random_);
    clock_.advance(random_.below(60) * 1s);
    ASSERT_TRUE(read_snapshot(*swarms_, dir_ / "snapshot", clock_));
    forget_old();
    look();
  }

  SeededRandom& random_;
  ManualClock clock_;
  test::TempDir dir_;
  std::unique_ptr<Swarms> swarms_;
  std::map<InfoHash, Reference> reference_;
  PeerList list_;
};

TEST(SwarmsModel, random_operations_agree_with_the_reference) {
  const std::uint64_t seed = test::seed_or(20260316);
  std::cout << "SLUICE_SEED=" << seed << std::endl;
  SeededRandom random(seed);
  Pair pair(random);
  const std::uint64_t steps = test::RunSize{10'000, 150'000, 1'000'000}.pick();
  for (std::uint64_t step = 0; step < steps; ++step) {
    pair.step();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", step " << step;
  }
  test::print_figure("tracker.model_operations", steps);
}

}  // namespace
}  // namespace sluice::tracker
