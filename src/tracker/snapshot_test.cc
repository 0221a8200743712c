// SPDX-License-Identifier: MIT
#include "tracker/snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/support/temp_dir.h"
#include "tracker/checksum.h"
#include "tracker/swarms_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

struct Ground {
  Ground() : swarms({}, random), path(dir / "peers.snapshot") {}

  void tell(Announce announce) {
    PeerList list;
    swarms.announce(announce, clock.mono(), {}, list);
  }
  /// Two swarms: peers of both families and roles, one of which has completed.
  void fill(std::uint32_t peers = 50) {
    for (std::uint32_t peer = 0; peer < peers; ++peer) {
      Announce announce = announce_of(1 + peer % 2, peer, peer % 3 == 0);
      announce.left = peer % 5 == 0 ? 0 : 1;
      tell(announce);
    }
    Announce done = announce_of(1, 0, true);
    done.left = 0;
    done.event = Event::completed;
    tell(done);
  }
  std::string written() {
    EXPECT_TRUE(write_snapshot(swarms, path, clock));
    return test::read_file(path);
  }
  Code read_into_new(const std::string& bytes) {
    test::write_file(path, bytes);
    Swarms others({}, random);
    const auto result = read_snapshot(others, path, clock);
    EXPECT_TRUE(result || others.totals() == Totals{});
    return status_of(result).code();
  }

  SeededRandom random{7};
  ManualClock clock;
  test::TempDir dir;
  Swarms swarms;
  std::string path;
};

std::vector<Peer> sorted_peers(const Swarms& swarms, std::uint32_t hash) {
  auto peers = swarms.peers(hash_number(hash), SIZE_MAX);
  std::ranges::sort(peers, {}, &Peer::endpoint);
  return peers;
}

std::string with_sum(std::string bytes) {
  const std::uint32_t sum = checksum(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(sum >> (8 * i) & 0xff));
  return bytes;
}

TEST(Snapshot, what_is_read_is_what_was_written) {
  Ground ground;
  ground.fill();
  const auto size = write_snapshot(ground.swarms, ground.path, ground.clock);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->swarms, 2u);
  EXPECT_EQ(size->peers, 50u);
  EXPECT_EQ(size->bytes, test::read_file(ground.path).size());
  Swarms others({}, ground.random);
  const auto entered = read_snapshot(others, ground.path, ground.clock);
  ASSERT_TRUE(entered) << entered.error().to_string();
  EXPECT_EQ(entered->peers, 50u);
  EXPECT_EQ(entered->swarms, 2u);
  EXPECT_EQ(others.totals(), ground.swarms.totals());
  for (const std::uint32_t hash : {1u, 2u}) {
    EXPECT_EQ(others.scrape(hash_number(hash)), ground.swarms.scrape(hash_number(hash)));
    EXPECT_EQ(sorted_peers(others, hash), sorted_peers(ground.swarms, hash));
  }
}

TEST(Snapshot, who_has_completed_is_not_counted_again) {
  Ground ground;
  ground.fill();
  ground.written();
  Swarms others({}, ground.random);
  ASSERT_TRUE(read_snapshot(others, ground.path, ground.clock));
  Announce done = announce_of(1, 0, true);
  done.left = 0;
  done.event = Event::completed;
  PeerList list;
  EXPECT_EQ(others.announce(done, ground.clock.mono(), {}, list).downloads, 1u);
  done.endpoint = endpoint_number(2);
  EXPECT_EQ(others.announce(done, ground.clock.mono(), {}, list).downloads, 2u);
}

TEST(Snapshot, no_swarms_are_a_snapshot_too) {
  Ground ground;
  const std::string bytes = ground.written();
  EXPECT_EQ(bytes.size(), 41u);
  EXPECT_EQ(ground.read_into_new(bytes), Code::ok);
}

TEST(Snapshot, peers_grow_older_while_nobody_runs) {
  Ground ground;
  ground.tell(announce_of(1, 1));
  ground.clock.advance(1h);
  ground.tell(announce_of(1, 2));
  ground.written();
  ground.clock.step_wall(2h - 1s);  // The machine was off: only the date went on.
  Swarms first({}, ground.random);
  EXPECT_EQ(read_snapshot(first, ground.path, ground.clock)->peers, 2u);
  ground.clock.step_wall(1s);
  Swarms second({}, ground.random);
  EXPECT_EQ(read_snapshot(second, ground.path, ground.clock)->peers, 1u);
  EXPECT_EQ(second.peers(hash_number(1), 10)[0].id, id_number(2));
  ground.clock.advance(1h - 1s);
  EXPECT_EQ(second.expire(ground.clock.mono(), 1000).gone.size(), 0u);
  ground.clock.advance(1s);
  EXPECT_EQ(second.expire(ground.clock.mono(), 1000).gone.size(), 1u);
}

TEST(Snapshot, a_date_that_went_back_makes_nobody_younger) {
  Ground ground;
  ground.tell(announce_of(1, 1));
  ground.clock.advance(1h);
  ground.written();
  ground.clock.step_wall(-24h);
  Swarms others({}, ground.random);
  EXPECT_EQ(read_snapshot(others, ground.path, ground.clock)->peers, 1u);
  ground.clock.advance(2h - 1s);
  EXPECT_EQ(others.expire(ground.clock.mono(), 1000).gone.size(), 0u);
  ground.clock.advance(1s);
  EXPECT_EQ(others.expire(ground.clock.mono(), 1000).gone.size(), 1u);
}

TEST(Snapshot, swarms_that_are_known_already_stay_as_they_are) {
  Ground ground;
  ground.fill();
  ground.written();
  Swarms others({}, ground.random);
  PeerList list;
  others.announce(announce_of(1, 99), ground.clock.mono(), {}, list);
  EXPECT_EQ(read_snapshot(others, ground.path, ground.clock)->swarms, 1u);
  EXPECT_EQ(others.scrape(hash_number(1)), (Counts{.leechers = 1}));
}

TEST(Snapshot, no_more_peers_are_entered_than_may_be_there) {
  Ground ground;
  ground.fill();
  ground.written();
  for (const std::uint64_t most : {0u, 1u, 49u, 50u, 51u}) {
    Swarms others({.peers_max = most}, ground.random);
    EXPECT_EQ(read_snapshot(others, ground.path, ground.clock)->peers,
              std::min<std::uint64_t>(most, 50));
    EXPECT_EQ(others.totals().peers, std::min<std::uint64_t>(most, 50));
  }
}

TEST(Snapshot, a_missing_file_is_not_found_and_a_folder_is_no_file) {
  Ground ground;
  EXPECT_EQ(read_snapshot(ground.swarms, ground.path, ground.clock).error().code(),
            Code::not_found);
  EXPECT_EQ(read_snapshot(ground.swarms, ground.dir.path(), ground.clock).error().code(),
            Code::io_error);
}

TEST(Snapshot, any_changed_byte_and_any_cut_is_refused_and_nothing_is_entered) {
  Ground ground;
  ground.fill(6);
  const std::string bytes = ground.written();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    ASSERT_EQ(ground.read_into_new(damaged), at < 12 ? Code::invalid_argument : Code::corrupt)
        << "byte " << at;
    ASSERT_EQ(ground.read_into_new(bytes.substr(0, at)),
              at < 12 ? Code::invalid_argument : Code::corrupt)
        << "cut at " << at;
  }
  EXPECT_EQ(ground.read_into_new(bytes + "x"), Code::corrupt);
  EXPECT_EQ(ground.read_into_new(bytes), Code::ok);
}

TEST(Snapshot, a_right_sum_does_not_excuse_what_makes_no_sense) {
  Ground ground;
  ground.fill(6);
  const std::string bytes = ground.written();
  const std::string body = bytes.substr(0, bytes.size() - 4);
  EXPECT_EQ(ground.read_into_new(with_sum(body)), Code::ok);
  for (std::size_t cut = 12; cut < body.size(); ++cut)
    ASSERT_EQ(ground.read_into_new(with_sum(body.substr(0, cut))), Code::corrupt) << cut;
  EXPECT_EQ(ground.read_into_new(with_sum(body + '\0')), Code::corrupt);
  const auto changed = [&](std::size_t at, char to) {
    std::string other = body;
    other[at] = to;
    return ground.read_into_new(with_sum(other));
  };
  EXPECT_EQ(changed(20, 2), Code::corrupt);                // No such record.
  EXPECT_EQ(changed(20, 0), Code::corrupt);                // Ends early.
  EXPECT_EQ(changed(48, '\xff'), Code::corrupt);           // Four thousand million seeders.
  EXPECT_EQ(changed(body.size() - 8, 7), Code::corrupt);   // The number of peers is 6,
  EXPECT_EQ(changed(body.size() - 16, 3), Code::corrupt);  // that of swarms 2.
}

TEST(Snapshot, another_version_is_refused_by_its_number) {
  Ground ground;
  std::string bytes = ground.written();
  bytes[8] = 2;
  test::write_file(ground.path, bytes);
  const auto result = read_snapshot(ground.swarms, ground.path, ground.clock);
  EXPECT_EQ(result.error().code(), Code::invalid_argument);
  EXPECT_NE(result.error().message().find("version 2"), std::string::npos);
}

TEST(Snapshot, a_write_that_fails_leaves_the_old_file_and_no_new_one) {
  Ground ground;
  ground.fill();
  const std::string before = ground.written();
  struct stat info{};
  ASSERT_EQ(mkdir((ground.path + ".new").c_str(), 0700), 0);
  EXPECT_EQ(write_snapshot(ground.swarms, ground.path, ground.clock).error().code(),
            Code::io_error);
  EXPECT_EQ(test::read_file(ground.path), before);
  // A folder cannot be replaced.
  const std::string folder = ground.dir / "folder";
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  EXPECT_EQ(write_snapshot(ground.swarms, folder, ground.clock).error().code(), Code::io_error);
  EXPECT_NE(stat((folder + ".new").c_str(), &info), 0);
}

TEST(Snapshot, only_its_owner_may_read_it_whatever_a_killed_writer_left) {
  Ground ground;
  test::write_file(ground.path + ".new", "half");
  ASSERT_EQ(chmod((ground.path + ".new").c_str(), 0644), 0);
  ground.written();
  struct stat info{};
  ASSERT_EQ(stat(ground.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(stat((ground.path + ".new").c_str(), &info), 0);
}

TEST(Snapshot, its_checksum_is_crc_32c) {
  EXPECT_EQ(checksum("123456789"), 0xe3069283u);
  EXPECT_EQ(checksum("6789", checksum("12345")), 0xe3069283u);
  EXPECT_EQ(checksum(""), 0u);
}

}  // namespace
}  // namespace sluice::tracker
