// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/kv.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "child.h"
#include "kv_load.h"
#include "kv_parts.h"

namespace sluice::bench {
namespace {

constexpr unsigned kThreads = 8;
constexpr Duration kStartTime = std::chrono::milliseconds(500);  // For a process to open the store.
constexpr Duration kMargin = std::chrono::milliseconds(200);     // Written on either side.
constexpr const char* kBell = "bell";

std::int64_t now_ns() {
  return system_clock().mono().time_since_epoch().count();
}

void sleep_until(std::int64_t at_ns) {
  system_clock().sleep_for(Duration(std::max<std::int64_t>(0, at_ns - now_ns())), {});
}

// The times a thread of another process has gone to sleep; its main thread has the process's id.
std::int64_t sleeps_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{0}/task/{0}/status", process));
  constexpr std::string_view kField = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kField)) return std::stoll(line.substr(kField.size()));
  return 0;
}

std::string us(double ns) {
  return number(ns / 1000);
}

std::string p50_p99_us(const std::vector<double>& p50, const std::vector<double>& p99) {
  return us(median(p50)) + " / " + us(median(p99));
}

}  // namespace

// Arguments: the store, when to begin counting, when to end. Tells: transactions committed in
// between, and the p50 and p99 of its waits for the write lock.
Status writer_process(const std::vector<std::string>& args) {
  SLUICE_LET(store, kv::open_lmdb({.dir = args.at(0)}));
  const std::int64_t begin = std::stoll(args.at(1));
  const std::int64_t end = std::stoll(args.at(2));
  if (now_ns() > begin - kMargin.count())
    return {Code::deadline_exceeded, "a process took too long to start: the machine is too busy"};
  sleep_until(begin - kMargin.count());
  std::uint64_t commits = 0;
  std::jthread counter([&] {
    sleep_until(begin);
    const std::uint64_t before = store->stats().commits;
    sleep_until(end);
    commits = store->stats().commits - before;
  });
  // Keys of one process must not collide with those of the other.
  NextKey next{static_cast<std::uint64_t>(getpid()) << 40};
  SLUICE_LET(work, write_flat_out(*store, next, kThreads, Duration(end - begin) + 2 * kMargin));
  (void)work;
  counter.join();
  const kv::Distribution wait = store->stats().lock_wait_ns;
  tell_parent({static_cast<std::int64_t>(commits), static_cast<std::int64_t>(wait.p50),
               static_cast<std::int64_t>(wait.p99)});
  return {};
}

Status measure_two_processes(const Part& part) {
  const int rounds = part.quick ? 3 : 5;
  const Duration window = std::chrono::milliseconds(part.quick ? 1000 : 2000);
  const std::string dir = part.scratch / "shared";
  std::vector<double> share, rate;
  std::vector<double> p50[2], p99[2];
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t begin = now_ns() + (kStartTime + kMargin).count();
    const std::vector<std::string> args = {kWriterCommand, dir, std::to_string(begin),
                                           std::to_string(begin + window.count())};
    SLUICE_LET(first, Child::spawn(args));
    SLUICE_LET(second, Child::spawn(args));
    double commits[2] = {};
    for (Child* child : {&first, &second}) {
      const std::size_t which = child == &second ? 1 : 0;
      SLUICE_LET(told, child->numbers(3));
      SLUICE_TRY(child->finish());
      commits[which] = static_cast<double>(told[0]);
      p50[which].push_back(static_cast<double>(told[1]));
      p99[which].push_back(static_cast<double>(told[2]));
    }
    const double both = commits[0] + commits[1];
    share.push_back(100 * std::min(commits[0], commits[1]) / both);
    rate.push_back(both / std::chrono::duration<double>(window).count());
  }
  part.report.add({.what = "two processes, 8 threads each: smaller share in %",
                   .ours = number(median(share)),
                   .peer = fmt::format("{} transactions/s by both", number(median(rate))),
                   .figure = median(share),
                   .bar = Bar{"two_process_share", Bar::Kind::at_least, 30}});
  part.report.add({.what = "  wait for the write lock us, p50 / p99",
                   .ours = p50_p99_us(p50[0], p99[0]),
                   .peer = p50_p99_us(p50[1], p99[1]) + " (the other process)"});
  return {};
}

// Arguments: the store, how often to wait. Tells before each wait: when the last one ended.
Status waiter_process(const std::vector<std::string>& args) {
  SLUICE_LET(store, kv::open_lmdb({.dir = args.at(0)}));
  std::int64_t woke = 0;
  for (int left = std::stoi(args.at(1)); left >= 0; --left) {
    const kv::BellTicket ticket = store->listen(kBell);
    tell_parent({woke});
    if (left == 0) break;
    (void)store->wait(ticket, {});
    woke = now_ns();
  }
  return {};
}

namespace {

// When one commit became durable lies between these two times. The commit begins after the body's
// end, so body end + time of the commit is a little too early; and the bell is rung before run()
// returns, so that is a little too late. The delay of the wake-up is counted from the first, which
// can only overstate it.
struct Durable {
  std::int64_t earliest_ns = 0;
  std::int64_t latest_ns = 0;
};

Result<Durable> commit_and_ring(kv::Store& store, std::uint64_t number) {
  const std::uint64_t before = store.stats().commit_ns.sum;
  std::int64_t body_end = 0;
  SLUICE_TRY(store.run([&](kv::Transaction& txn) -> Status {
    txn.put(Key(number).view(), value());
    txn.ring(kBell);
    body_end = now_ns();
    return {};
  }));
  const std::int64_t returned = now_ns();
  const std::uint64_t commit_ns = store.stats().commit_ns.sum - before;
  return Durable{body_end + static_cast<std::int64_t>(commit_ns), returned};
}

}  // namespace

Status measure_doorbell(const Part& part) {
  const int rounds = part.quick ? 100 : 300;
  const Duration idle = std::chrono::seconds(part.quick ? 5 : 10);
  const std::string dir = part.scratch / "bell";
  SLUICE_LET(store, kv::open_lmdb({.dir = dir}));
  SLUICE_LET(waiter, Child::spawn({kWaiterCommand, dir, std::to_string(rounds + 1)}));
  SLUICE_TRY(waiter.numbers(1));
  std::vector<double> after_commit, after_return;
  for (int i = 0; i < rounds; ++i) {
    system_clock().sleep_for(std::chrono::milliseconds(2), {});  // The waiter falls asleep.
    SLUICE_LET(durable, commit_and_ring(*store, static_cast<std::uint64_t>(i)));
    SLUICE_LET(woke, waiter.numbers(1));
    after_commit.push_back(static_cast<double>(woke[0] - durable.earliest_ns));
    after_return.push_back(static_cast<double>(woke[0] - durable.latest_ns));
  }
  const auto p50_p99 = [](const std::vector<double>& ns) {
    return us(median(ns)) + " / " + us(percentile(ns, 0.99));
  };
  part.report.add({.what = "doorbell to another process us after the commit, p50 / p99",
                   .ours = p50_p99(after_commit),
                   .peer = p50_p99(after_return) + " (counted from run()'s return)",
                   .figure = median(after_commit) / 1000,
                   .bar = Bar{"bell_wake_us", Bar::Kind::at_most, 200}});

  system_clock().sleep_for(std::chrono::milliseconds(100), {});
  const std::int64_t sleeps = sleeps_of(waiter.pid());
  system_clock().sleep_for(idle, {});
  const auto wakes = static_cast<double>(sleeps_of(waiter.pid()) - sleeps);
  part.report.add(
      {.what = fmt::format("wake-ups of an idle waiter per 2 s, over {} s",
                           std::chrono::duration_cast<std::chrono::seconds>(idle).count()),
       .ours = number(wakes * 2 / std::chrono::duration<double>(idle).count()),
       .figure = wakes * 2 / std::chrono::duration<double>(idle).count(),
       .bar = Bar{"idle_wakes_per_2s", Bar::Kind::at_most, 1}});
  SLUICE_TRY(commit_and_ring(*store, static_cast<std::uint64_t>(rounds)));
  SLUICE_TRY(waiter.numbers(1));
  return waiter.finish();
}

}  // namespace sluice::bench
