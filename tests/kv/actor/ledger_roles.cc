// SPDX-License-Identifier: MIT
// The roles that post to a ledger and look at what is left of one.
#include <atomic>
#include <iostream>
#include <latch>
#include <thread>

#include "tests/kv/actor/actor.h"
#include "tests/kv/ledger.h"
#include "tests/kv/notes.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

Status say_posted(kv::Store& store, const Posting& posting, const Notes& notes) {
  notes.started(posting);
  const Status status = status_of(post(store, posting));
  if (status.ok()) notes.acked(posting);
  // Every other code promises that nothing happened.
  else if (status.code() != Code::commit_unknown)
    notes.failed(posting);
  return status;
}

Status work_lane(kv::Store& store, Posting posting, std::uint64_t count, const Notes& notes) {
  SLUICE_LET(last, last_posting(store, posting.lane));
  SeededRandom random(posting.seed + posting.lane * 1'000 + last);
  for (std::uint64_t done = 0; count == 0 || done < count; ++done) {
    posting.number = ++last;
    posting.seed = random.next();
    SLUICE_TRY(say_posted(store, posting, notes));
  }
  return {};
}

void say_verdict(const Verdict& verdict) {
  for (const Breach& breach : verdict.breaches)
    say(std::string("breach ") + breach_name(breach.kind) + " " + breach.text);
  for (const auto& [lane, last] : verdict.last)
    say("last " + std::to_string(lane) + " " + std::to_string(last));
}

}  // namespace

int run_work(const Words& words) {
  const auto store = open_or_exit(words.text(0));
  const Notes notes(words.text(1));
  if (const Status status = set_up_ledger(*store); !status.ok()) {
    std::cerr << "cannot set up: " << status.to_string() << std::endl;
    return 4;
  }
  say("ready");
  std::atomic<bool> failed{false};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < words.number(3); ++i)
      threads.emplace_back([&, lane = static_cast<unsigned>(words.number(2) + i)] {
        const Posting first{.lane = lane, .number = 0, .seed = words.number(5)};
        const Status status = work_lane(*store, first, words.number(4), notes);
        if (status.ok()) return;
        std::cerr << "lane " << lane << ": " << status.to_string() << std::endl;
        failed = true;
      });
  }
  return failed ? 4 : 0;
}

int run_check(const Words& words) {
  const Stopwatch watch;
  const auto store = open_or_exit(words.text(0));
  say("open_us " + watch.shown_us());
  Verdict verdict = check_ledger(*store, decode_truth(words.text(1)));
  say_verdict(verdict);
  if (!verdict.clean()) return 1;
  const std::uint64_t more = words.number(2);
  if (more == 0) return 0;
  Truth truth;
  for (const auto& [lane, last] : verdict.last) truth[lane].acked = last;
  Status status = set_up_ledger(*store);
  for (std::uint64_t i = 0; i < more && status.ok(); ++i) {
    const std::uint64_t number = truth[0].acked + 1;
    const Posting posting{.number = number, .seed = number + 77, .window = UINT32_MAX};
    status = status_of(post(*store, posting));
    if (status.ok()) truth[0].acked = number;
  }
  if (!status.ok()) say("breach corrupt cannot go on: " + status.to_string());
  verdict = check_ledger(*store, truth);
  say_verdict(verdict);
  return verdict.clean() && status.ok() ? 0 : 1;
}

int run_script(const Words& words) {
  const Notes notes(words.text(1));
  std::unique_ptr<kv::Store> store;
  const auto tell = [](const std::string& call, const Status& status) {
    say(call + " " + code_name(status.code()));
    return status.ok();
  };
  say("begin");
  for (int attempt = 0; attempt < 3 && !store; ++attempt) {
    auto opened = kv::open_lmdb({.dir = words.text(0), .map_bytes = kMapBytes});
    tell("open", status_of(opened));
    if (opened) store = std::move(*opened);
  }
  bool is_set_up = false;
  std::uint64_t number = 1;
  for (int step = 1; step <= 30 && store; ++step) {
    if (!is_set_up) is_set_up = tell("set_up", set_up_ledger(*store));
    if (!is_set_up) continue;
    const bool drain = step % 7 == 0;
    const Posting posting{.number = number, .seed = 40 + number, .drain = drain};
    if (tell("post", say_posted(*store, posting, notes))) ++number;
    tell("read", store->read([](kv::Reader& reader) { return status_of(reader.get("c")); }));
  }
  store.reset();
  say("end");
  return 0;
}

namespace {

// Rings bells all over the shared file, and reads in many threads at once: both use memory that
// was mapped from files, and a page of such a file that has no room on a full disk is a crash.
Status use_mapped_files(kv::Store& store) {
  SLUICE_TRY(store.run([](kv::Transaction& txn) -> Status {
    for (int bell = 0; bell < 300; ++bell) txn.ring(std::to_string(bell));
    return {};
  }));
  constexpr int kReaders = 300;
  std::latch all_reading(kReaders);
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < kReaders; ++i)
      readers.emplace_back([&] {
        const Status status = store.read([&](kv::Reader& reader) {
          all_reading.arrive_and_wait();
          return status_of(reader.get("c"));
        });
        failures += status.ok() ? 0 : 1;
      });
  }
  return failures == 0 ? Status() : Status(Code::unavailable, "reads failed");
}

}  // namespace

int run_fill(const Words& words) {
  const auto store = open_or_exit(words.text(0));
  const Notes notes(words.text(1));
  Status status = set_up_ledger(*store);
  std::uint64_t number = 0;
  std::uint64_t refused = 0;
  while (refused < 10 && (status.ok() || status.code() == Code::storage_full)) {
    const Posting posting{
        .number = number + 1, .seed = number + refused * 1'000, .window = UINT32_MAX};
    status = say_posted(*store, posting, notes);
    ++(status.ok() ? number : refused);
  }
  say(std::string("full ") + code_name(status.code()));
  say(std::string("mapped ") + code_name(use_mapped_files(*store).code()));
  std::string line;
  std::getline(std::cin, line);
  for (int i = 0; i < 20; ++i) {
    const Posting posting{.number = ++number, .seed = number, .window = UINT32_MAX};
    say(std::string("post ") + code_name(say_posted(*store, posting, notes).code()));
  }
  return 0;
}

}  // namespace sluice::test
