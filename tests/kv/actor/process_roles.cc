// SPDX-License-Identifier: MIT
// The roles of one process among several: the killed writer, the killed reader, the ringer, the
// copier.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>

#include "tests/kv/actor/actor.h"
#include "tests/support/waiting.h"

namespace sluice::test {

int run_die_inside(const Words& words) {
  const auto store = open_or_exit(words.text(0));
  const auto outcome = store->run([](kv::Transaction& txn) -> Status {
    txn.put("never", "seen");
    ::kill(getpid(), SIGKILL);
    return {};
  });
  return outcome ? 0 : 1;
}

int run_hold_read(const Words& words) {
  const auto store = open_or_exit(words.text(0));
  const Status status = store->read(
      [](kv::Reader& reader) -> Status {
        SLUICE_TRY(reader.get("c"));
        say("holding");
        std::string line;
        std::getline(std::cin, line);
        return {};
      },
      {.unbounded = true});
  return status.ok() ? 0 : 1;
}

int run_commit_one(const Words& words) {
  const auto store = open_or_exit(words.text(0));
  const auto outcome = store->run([&](kv::Transaction& txn) -> Status {
    txn.put(words.text(1), "there");
    if (words.text(2) != "-") txn.ring(words.text(2));
    return {};
  });
  say(outcome ? "committed" : outcome.error().to_string());
  return outcome ? 0 : 1;
}

int run_copy(const Words& words) {
  const auto store = open_or_exit(words.text(0));
  say("begin");
  const Status status = store->copy_to(words.text(1));
  say(std::string("copy ") + code_name(status.code()));
  return status.ok() ? 0 : 1;
}

int run_compact(const Words& words) {
  say("begin");
  const Status status = kv::compact_lmdb({.dir = words.text(0)});
  say(std::string("compact ") + code_name(status.code()));
  return status.ok() ? 0 : 1;
}

int run_restore(const Words& words) {
  say("begin");
  const Status status =
      status_of(kv::restore_lmdb({.backup = words.text(1), .dir = words.text(0), .replace = true}));
  say(std::string("restore ") + code_name(status.code()));
  return status.ok() ? 0 : 1;
}

namespace {

// The machine's clock with the date set wrong.
class WrongDate final : public MachineClock {
 public:
  explicit WrongDate(Duration ahead) : ahead_(ahead) {}
  WallTime wall() const override { return MachineClock::wall() + ahead_; }

 private:
  Duration ahead_;
};

}  // namespace

int run_tell_time(const Words& words) {
  const WrongDate clock(std::chrono::seconds(std::stoll(words.text(1))));
  const auto store = open_or_exit(words.text(0), clock);
  say("ready");
  for (std::string line; std::getline(std::cin, line);)
    say(std::to_string(store->now().time_since_epoch().count()));
  return 0;
}

int run_pong(const Words& words) {
  const auto store = open_or_exit(words.text(0));
  say("ready");
  std::uint64_t in_vain = 0;
  Heartbeat heart;
  for (std::uint64_t round = 1; round <= words.number(1);) {
    const kv::BellTicket ticket = store->listen("ping");
    bool pinged = false;
    const auto outcome = store->run([&](kv::Transaction& txn) -> Status {
      SLUICE_LET(ping, txn.get("ping"));
      pinged = ping == std::to_string(round);
      if (!pinged) return {};
      txn.put("pong", std::to_string(round));
      txn.ring("pong");
      return {};
    });
    if (!outcome) return 1;
    if (pinged) {
      ++round;
      continue;
    }
    // Shorter than the period after which a waiter looks by itself: only a ring can wake it.
    constexpr Duration kRingMax = kv::kBellCheckPeriod / 2;
    heart.begin();
    store->wait(ticket, {.timeout = kRingMax});
    if (heart.lasted(kRingMax)) ++in_vain;
  }
  say("in_vain " + std::to_string(in_vain));
  return 0;
}

}  // namespace sluice::test
