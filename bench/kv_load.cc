// SPDX-License-Identifier: MIT
#include "kv_load.h"

#include <algorithm>
#include <latch>
#include <thread>

#include "base/futex.h"
#include "first_failure.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kReadsPerLook = 1000;  // Reads between two looks at the clock.

// Visits the numbers below `count` in an order that no cache foresees.
std::uint64_t scattered(std::uint64_t i, std::uint64_t count) {
  return i * 11400714819323198485u % count;
}

Status small_transaction(kv::Transaction& txn, std::uint64_t first) {
  for (std::uint64_t i = 0; i < kPuts; ++i) txn.put(Key(first + i).view(), value());
  return {};
}

template <class ReadOne>
Result<Work> read_for(Duration duration, std::uint64_t keys, const ReadOne& read_one) {
  const MonoTime end = system_clock().mono() + duration;
  const Stopwatch watch;
  Work work;
  while (system_clock().mono() < end) {
    for (std::uint64_t i = 0; i < kReadsPerLook; ++i)
      SLUICE_TRY(read_one(Key(scattered(work.done + i, keys)).view()));
    work.done += kReadsPerLook;
  }
  work.cost = watch.read();
  return work;
}

}  // namespace

Key::Key(std::uint64_t number) {
  for (std::size_t i = digits_.size(); i-- > 0; number >>= 4)
    digits_[i] = "0123456789abcdef"[number & 15];
}

std::string_view value() {
  static const std::string bytes = [] {
    std::string text(200, '\0');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 151 >> 1);
    return text;
  }();
  return bytes;
}

Result<Work> write_flat_out(kv::Store& store, NextKey& next, unsigned threads, Duration duration) {
  std::latch ready(threads + 1);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> done{0};
  FirstFailure failure;
  const auto write = [&] {
    ready.arrive_and_wait();
    std::uint64_t mine = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const std::uint64_t first = next.fetch_add(kPuts, std::memory_order_relaxed);
      const auto commit =
          store.run([first](kv::Transaction& txn) { return small_transaction(txn, first); });
      if (!commit) return failure.note(commit.error());
      ++mine;
    }
    done += mine;
  };
  std::vector<std::jthread> writers;
  for (unsigned i = 0; i < threads; ++i) writers.emplace_back(write);
  ready.arrive_and_wait();
  const Stopwatch watch;
  system_clock().sleep_for(duration, {});
  stop = true;
  writers.clear();
  const Cost cost = watch.read();
  SLUICE_TRY(failure.get());
  return Work{.done = done, .cost = cost};
}

Result<Work> submit_flat_out(kv::Store& store, NextKey& next, unsigned in_flight,
                             Duration duration) {
  const MonoTime end = system_clock().mono() + duration;
  FirstFailure failure;
  Work work;
  const Stopwatch watch;
  while (system_clock().mono() < end && failure.get().ok()) {
    std::latch done(in_flight);
    for (unsigned i = 0; i < in_flight; ++i) {
      const std::uint64_t first = next.fetch_add(kPuts, std::memory_order_relaxed);
      store.submit([first](kv::Transaction& txn) { return small_transaction(txn, first); },
                   [&](const Result<kv::Commit>& commit) {
                     if (!commit) failure.note(commit.error());
                     done.count_down();
                   });
    }
    done.wait();
    work.done += in_flight;
  }
  work.cost = watch.read();
  SLUICE_TRY(failure.get());
  return work;
}

Work wake_in_rounds(unsigned threads, Duration pause, Duration duration) {
  std::atomic<std::uint32_t> round{0};
  std::atomic<unsigned> waiting{0};
  std::atomic<bool> stop{false};
  const auto sleep_and_wake = [&] {
    while (!stop) {
      const std::uint32_t seen = round;
      ++waiting;
      while (round == seen) futex_wait_private(round, seen, kFutexAllBits);
    }
  };
  const auto await_all = [&] {
    while (waiting < threads) std::this_thread::yield();
  };
  const auto wake_all = [&] {
    waiting = 0;
    ++round;
    futex_wake_private(round, kFutexAllBits);
  };
  std::vector<std::jthread> sleepers;
  for (unsigned i = 0; i < threads; ++i) sleepers.emplace_back(sleep_and_wake);
  const MonoTime end = system_clock().mono() + duration;
  const Stopwatch watch;
  Work work;
  for (; system_clock().mono() < end; work.done += threads) {
    await_all();
    system_clock().sleep_for(pause, {});
    wake_all();
  }
  work.cost = watch.read();
  await_all();  // Whoever saw `stop` before it waited would be missed.
  stop = true;
  wake_all();
  return work;
}

Result<Work> read_singly(kv::Store& store, std::uint64_t keys, Duration duration) {
  return read_for(duration, keys, [&](std::string_view key) {
    return store.read([key](kv::Reader& reader) -> Status {
      SLUICE_LET(found, reader.get(key));
      return found ? Status() : Status(Code::not_found, "a key is missing");
    });
  });
}

Result<std::unique_ptr<BareLmdb>> BareLmdb::open(const std::string& dir) {
  std::unique_ptr<BareLmdb> bare(new BareLmdb);
  SLUICE_TRY(bare->open_in(dir));
  return bare;
}

int BareLmdb::write_batch(std::uint64_t transactions) {
  MDB_txn* txn = nullptr;
  int rc = mdb_txn_begin(env_, nullptr, 0, &txn);
  if (rc != 0) return rc;
  for (std::uint64_t i = 0; i < transactions * kPuts && rc == 0; ++i) {
    const Key key(next_++);
    MDB_val k{key.view().size(), const_cast<char*>(key.view().data())};
    MDB_val v{value().size(), const_cast<char*>(value().data())};
    rc = mdb_put(txn, dbi_, &k, &v, 0);
  }
  if (rc != 0) {
    mdb_txn_abort(txn);
    return rc;
  }
  const MonoTime started = system_clock().mono();
  rc = mdb_txn_commit(txn);
  commit_ns_.push_back(static_cast<double>((system_clock().mono() - started).count()));
  return rc;
}

Result<Work> BareLmdb::write(std::uint64_t transactions, std::uint64_t batch) {
  const Stopwatch watch;
  for (std::uint64_t done = 0; done < transactions; done += batch)
    SLUICE_TRY(lmdb_failed(write_batch(std::min(batch, transactions - done))));
  return Work{.done = transactions, .cost = watch.read()};
}

Result<Work> BareLmdb::read_singly(std::uint64_t keys, Duration duration) {
  MDB_txn* txn = nullptr;
  SLUICE_TRY(lmdb_failed(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn)));
  const std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> owner(txn, mdb_txn_abort);
  std::string copy;
  return read_for(duration, keys, [&](std::string_view key) {
    mdb_txn_reset(txn);
    if (const int rc = mdb_txn_renew(txn); rc != 0) return lmdb_failed(rc);
    MDB_val k{key.size(), const_cast<char*>(key.data())};
    MDB_val v{};
    const int rc = mdb_get(txn, dbi_, &k, &v);
    if (rc == 0) copy.assign(static_cast<const char*>(v.mv_data), v.mv_size);
    return lmdb_failed(rc);
  });
}

}  // namespace sluice::bench
