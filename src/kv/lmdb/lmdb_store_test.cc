// SPDX-License-Identifier: MIT
// What only the LMDB engine does: files, reopening, group commit, space, readers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <sluice/kv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "codec/record.h"
#include "kv/lmdb/environment.h"
#include "tests/support/temp_dir.h"

namespace sluice::kv {
namespace {

using test::TempDir;

std::unique_ptr<Store> must_open(LmdbOptions options) {
  auto store = open_lmdb(std::move(options));
  EXPECT_TRUE(store) << store.error().to_string();
  return std::move(*store);
}

Status put(Store& store, std::string_view key, std::string_view value,
           WriteClass write_class = WriteClass::grow) {
  return status_of(store.run(
      [&](Transaction& txn) -> Status {
        txn.put(key, value);
        return {};
      },
      {.write_class = write_class}));
}

std::size_t size(Store& store) {
  std::size_t entries = 0;
  const Status status = store.read([&](Reader& reader) {
    return reader.scan(Range::all(), {}, [&](std::string_view, std::string_view) {
      ++entries;
      return true;
    });
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return entries;
}

TEST(LmdbStore, what_was_committed_is_there_after_reopening) {
  const TempDir dir;
  Commit before;
  {
    const auto store = must_open({.dir = dir.path()});
    EXPECT_TRUE(put(*store, "k", "v").ok());
    EXPECT_TRUE(store->raise_epoch());
    before = store
                 ->run([](Transaction& txn) {
                   return txn.put_stamped_key("log/", 0, "", "v"), Status();
                 })
                 .value();
  }
  const auto store = must_open({.dir = dir.path()});
  EXPECT_EQ(size(*store), 2u);
  const Commit after =
      store->run([](Transaction& txn) { return txn.put_stamped_key("log/", 0, "", "v"), Status(); })
          .value();
  EXPECT_EQ(after.epoch, 2);
  EXPECT_LT(before.mark(0), after.mark(0));
}

TEST(LmdbStore, its_files_are_private) {
  const TempDir parent;
  const std::string dir = parent.path() + "/store";
  const auto store = must_open({.dir = dir});
  struct stat info{};
  ASSERT_EQ(stat(dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  for (const char* file : {"/data.mdb", "/lock.mdb", "/bell"}) {
    ASSERT_EQ(stat((dir + file).c_str(), &info), 0) << file;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << file;
  }
}

TEST(LmdbStore, programs_that_the_process_starts_inherit_nothing_of_it) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path()});
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.find(dir.path() + "/") != 0) continue;
    ++found;
    const int fd = std::stoi(entry.path().filename().string());
    EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC) << target;
  }
  EXPECT_GE(found, 3);  // Data, locks and bells.
}

TEST(LmdbStore, a_grow_transaction_that_trims_is_not_refused_for_what_it_deletes) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path(), .map_bytes = 8 << 20});
  const auto key = [](int i) { return "k" + std::to_string(100'000 + i); };
  for (int batch = 0; batch < 10; ++batch)
    ASSERT_TRUE(store->run([&](Transaction& txn) -> Status {
      for (int i = 0; i < 200; ++i) txn.put(key(batch * 200 + i), std::string(400, 'v'));
      return {};
    }));
  EXPECT_TRUE(store->run([&](Transaction& txn) -> Status {
    for (int i = 0; i < 1800; ++i) txn.erase(key(i));
    txn.put("new", "v");
    return {};
  }));
}

TEST(LmdbStore, a_process_opens_a_directory_once_at_a_time) {
  const TempDir dir;
  {
    const auto store = must_open({.dir = dir.path()});
    EXPECT_EQ(open_lmdb({.dir = dir.path()}).error().code(), Code::already_exists);
    EXPECT_EQ(open_lmdb({.dir = dir.path() + "/."}).error().code(), Code::already_exists);
    EXPECT_TRUE(put(*store, "k", "v").ok());
  }
  EXPECT_TRUE(open_lmdb({.dir = dir.path()}));
}

TEST(LmdbStore, what_cannot_be_opened_is_refused_with_its_reason) {
  const TempDir dir;
  EXPECT_EQ(open_lmdb({}).error().code(), Code::invalid_argument);
  EXPECT_EQ(open_lmdb({.dir = dir.path() + "/no/parent"}).error().code(), Code::not_found);
  EXPECT_EQ(open_lmdb({.dir = dir.path(), .map_bytes = (1 << 20) - 1}).error().code(),
            Code::invalid_argument);
  std::ofstream(dir.path() + "/file") << "x";
  EXPECT_EQ(open_lmdb({.dir = dir.path() + "/file"}).error().code(), Code::not_found);
  const TempDir garbage;
  std::ofstream(garbage.path() + "/data.mdb") << std::string(100'000, 'x');
  EXPECT_EQ(open_lmdb({.dir = garbage.path()}).error().code(), Code::corrupt);
  EXPECT_TRUE(open_lmdb({.dir = dir.path()}));
}

// One bit more would make the commit before the latest look like a later one.
TEST(LmdbStore, a_damaged_number_of_a_commit_is_refused) {
  const TempDir dir;
  {
    const auto store = must_open({.dir = dir.path()});
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(put(*store, "k", std::to_string(i)).ok());
  }
  const std::string path = dir.path() + "/data.mdb";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (const int page : {0, 1}) {
    const std::streamoff at = page * sysconf(_SC_PAGESIZE) + 144;
    for (int bit = 2; bit < 64; ++bit) {
      const auto flip = [&] {
        char byte = 0;
        file.seekg(at + bit / 8).read(&byte, 1);
        byte = static_cast<char>(byte ^ (1 << bit % 8));
        file.seekp(at + bit / 8).write(&byte, 1).flush();
      };
      flip();
      EXPECT_EQ(open_lmdb({.dir = dir.path()}).error().code(), Code::corrupt) << page << " " << bit;
      flip();
    }
  }
  EXPECT_TRUE(open_lmdb({.dir = dir.path()}));
}

TEST(LmdbStore, a_file_of_another_program_is_left_alone) {
  const TempDir dir;
  MDB_env* env = nullptr;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, dir.path().c_str(), 0, 0600), 0);
  mdb_env_close(env);
  EXPECT_EQ(open_lmdb({.dir = dir.path()}).error().code(), Code::invalid_argument);
}

TEST(LmdbStore, what_a_crash_left_of_a_new_store_is_swept_away) {
  const TempDir dir;
  std::ofstream(dir.path() + "/data.mdb.new") << std::string(5000, 'x');
  EXPECT_TRUE(put(*must_open({.dir = dir.path()}), "k", "v").ok());
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/data.mdb.new"));
}

// Writes the header with LMDB itself, as another program version would.
void write_header(const std::string& dir, const std::string& header) {
  const auto environment = Environment::open({.dir = dir});
  ASSERT_TRUE(environment);
  MDB_txn* txn = nullptr;
  ASSERT_EQ(mdb_txn_begin((*environment)->get(), nullptr, 0, &txn), 0);
  MDB_val key = to_val(kHeaderKey);
  MDB_val value = to_val(header);
  ASSERT_EQ(mdb_put(txn, (*environment)->dbi(), &key, &value, 0), 0);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
}

std::string read_header_field(const std::string& dir, unsigned field) {
  const auto environment = Environment::open({.dir = dir});
  EXPECT_TRUE(environment);
  MDB_txn* raw = nullptr;
  EXPECT_EQ(mdb_txn_begin((*environment)->get(), nullptr, MDB_RDONLY, &raw), 0);
  const TxnPtr txn(raw);
  MDB_val key = to_val(kHeaderKey);
  MDB_val value{};
  EXPECT_EQ(mdb_get(raw, (*environment)->dbi(), &key, &value), 0);
  const codec::RecordFormat any{.type = 'H', .major = 1, .minor = 9, .field_max = 9};
  const auto record = codec::RecordReader::open(to_view(value), any);
  EXPECT_TRUE(record);
  return std::string(record->bytes(field).value_or(""));
}

TEST(LmdbStore, a_newer_minor_format_opens_and_a_newer_major_is_refused_by_name) {
  const TempDir dir;
  const codec::RecordFormat minor{.type = 'H', .major = 1, .minor = 9, .field_max = 9};
  write_header(dir.path(), codec::RecordWriter(minor).field(1, 5u).field(9, "new").finish());
  EXPECT_TRUE(put(*must_open({.dir = dir.path()}), "k", "v").ok());
  EXPECT_EQ(read_header_field(dir.path(), 9), "new") << "what is not known is carried along";
  const codec::RecordFormat major{.type = 'H', .major = 2, .minor = 0, .field_max = 1};
  write_header(dir.path(), codec::RecordWriter(major).field(1, 5u).finish());
  const auto refused = open_lmdb({.dir = dir.path()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message().find("2"), std::string::npos) << refused.error().message();
  const TempDir damaged;
  write_header(damaged.path(), "not a record");
  EXPECT_EQ(open_lmdb({.dir = damaged.path()}).error().code(), Code::corrupt);
}

// A caller that leads, and stays in its body until everything that shall share its batch has been
// submitted. Puts the key "leader".
class HeldLeader {
 public:
  explicit HeldLeader(Store& store) : store_(store), thread_([this] { lead(); }) { inside_.wait(); }

  void submit(Body body, const std::function<void(Code)>& done = {},
              WriteClass write_class = WriteClass::grow) {
    ++submitted_;
    store_.submit(std::move(body),
                  [this, done](const Result<Commit>& result) {
                    if (done) done(status_of(result).code());
                    told_.release();
                  },
                  {.write_class = write_class});
  }
  // Lets the batch go, and waits until it, and what did not fit in it, is committed.
  void release() {
    queued_.count_down();
    for (int i = 0; i < submitted_; ++i) told_.acquire();
    thread_.join();
  }

 private:
  void lead() {
    EXPECT_TRUE(store_.run([&](Transaction& txn) -> Status {
      txn.put("leader", "v");
      if (!inside_.try_wait()) inside_.count_down();  // A body may run again.
      queued_.wait();
      return {};
    }));
  }

  Store& store_;
  std::latch inside_{1};
  std::latch queued_{1};
  std::counting_semaphore<> told_{0};
  int submitted_ = 0;
  std::jthread thread_;
};

TEST(LmdbStore, concurrent_callers_share_a_commit) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path()});
  HeldLeader leader(*store);
  for (int i = 0; i < 20; ++i)
    leader.submit([i](Transaction& txn) { return txn.put(std::to_string(i), "v"), Status(); },
                  [](Code code) { EXPECT_EQ(code, Code::ok); });
  leader.release();
  const Stats stats = store->stats();
  EXPECT_EQ(stats.commits, 21u);
  EXPECT_EQ(stats.batch_size.count, 1u);
  EXPECT_EQ(stats.batch_size.max, 21u);
  EXPECT_EQ(stats.commit_ns.count, 1u);
  EXPECT_EQ(size(*store), 21u);
}

TEST(LmdbStore, a_batch_takes_no_more_bodies_past_16_mebibytes) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path()});
  HeldLeader leader(*store);
  for (int i = 0; i < 6; ++i)  // 9 MB each: two fill a batch.
    leader.submit(
        [i](Transaction& txn) -> Status {
          const std::string value(90'000, 'v');
          for (int n = 0; n < 100; ++n) txn.put(std::to_string(i * 100 + n), value);
          return {};
        },
        [](Code code) { EXPECT_EQ(code, Code::ok); });
  leader.release();
  EXPECT_EQ(store->stats().batch_size.count, 3u);
  EXPECT_EQ(store->stats().batch_size.max, 3u);
}

TEST(LmdbStore, bodies_of_one_batch_see_the_earlier_ones) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path()});
  std::vector<std::string> seen(3);
  HeldLeader leader(*store);
  for (std::size_t i = 0; i < 3; ++i)
    leader.submit([&, i](Transaction& txn) -> Status {
      SLUICE_LET(value, txn.get("leader"));
      seen[i] = value.value_or("nothing");
      txn.put("leader", std::to_string(i));
      if (i == 1) return {Code::cancelled, "the next one must not see this"};
      return {};
    });
  leader.release();
  EXPECT_EQ(seen, (std::vector<std::string>{"v", "0", "0"}));
}

TEST(LmdbStore, a_body_too_large_for_the_map_fails_alone) {
  const TempDir dir;
  const auto store =
      must_open({.dir = dir.path(), .map_bytes = 4 << 20, .reserve_bytes = 256 << 10});
  std::vector<Code> codes(3);
  HeldLeader leader(*store);
  for (std::size_t i = 0; i < 3; ++i)
    leader.submit(
        [i](Transaction& txn) -> Status {
          const std::string value(90'000, 'v');
          for (int n = 0; n < (i == 1 ? 60 : 1); ++n)
            txn.put(std::to_string(i) + "/" + std::to_string(n), value);
          return {};
        },
        [&, i](Code code) { codes[i] = code; }, WriteClass::drain);
  leader.release();
  EXPECT_EQ(codes, (std::vector<Code>{Code::ok, Code::storage_full, Code::ok}));
  EXPECT_EQ(size(*store), 3u);
  EXPECT_TRUE(put(*store, "after", "v").ok());
}

TEST(LmdbStore, more_readers_than_slots_is_unavailable_and_passes) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path(), .readers_max = 2});
  const Status outer = store->read([&](Reader&) -> Status {
    std::jthread([&] {
      EXPECT_TRUE(store
                      ->read([&](Reader&) -> Status {
                        std::jthread([&] {
                          EXPECT_EQ(store->read([](Reader&) { return Status(); }).code(),
                                    Code::unavailable);
                        }).join();
                        return {};
                      })
                      .ok());
    }).join();
    return {};
  });
  EXPECT_TRUE(outer.ok());
  EXPECT_TRUE(store->read([](Reader&) { return Status(); }).ok());
}

TEST(LmdbStore, preallocation_takes_the_whole_map_from_the_disk) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path(), .map_bytes = 8 << 20, .preallocate = true});
  struct stat info{};
  ASSERT_EQ(stat((dir.path() + "/data.mdb").c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 8 << 20);
  EXPECT_TRUE(put(*store, "k", "v").ok());
}

TEST(LmdbStore, the_map_grows_at_open_and_never_shrinks) {
  const TempDir dir;
  (void)must_open({.dir = dir.path(), .map_bytes = 2 << 20});
  EXPECT_EQ(must_open({.dir = dir.path(), .map_bytes = 1 << 20})->stats().map_bytes, 2u << 20);
  {
    const auto store = must_open({.dir = dir.path(), .map_bytes = 4 << 20});
    EXPECT_EQ(store->stats().map_bytes, 4u << 20);
    EXPECT_TRUE(put(*store, "k", "v").ok());
  }
  EXPECT_EQ(must_open({.dir = dir.path(), .map_bytes = 2 << 20})->stats().map_bytes, 4u << 20);
}

TEST(LmdbStore, stats_tell_how_full_it_is) {
  const TempDir dir;
  const auto store = must_open({.dir = dir.path(), .map_bytes = 16 << 20});
  const std::uint64_t empty = store->stats().used_bytes;
  for (int i = 0; i < 40; ++i)
    EXPECT_TRUE(put(*store, std::to_string(i), std::string(90'000, 'v')).ok());
  const Stats full = store->stats();
  EXPECT_EQ(full.map_bytes, std::uint64_t{16 << 20});
  EXPECT_GT(full.used_bytes, empty + 40 * 90'000);
  EXPECT_TRUE(store->run([](Transaction& txn) { return txn.erase_range(Range::all()), Status(); }));
  EXPECT_LT(store->stats().used_bytes, empty + 100'000);
  EXPECT_EQ(full.engine.substr(0, 5), "lmdb ");
}

}  // namespace
}  // namespace sluice::kv
