// SPDX-License-Identifier: MIT
// Copying, compacting and restoring a store while other processes use it, with kills at every
// system call and at any moment, and on a full disk.
#include <gtest/gtest.h>
#include <sched.h>
#include <sluice/kv.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/kv/actor_path.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<kv::Store> must_open(const std::string& dir, std::uint64_t map_bytes = 64 << 20) {
  auto store = kv::open_lmdb({.dir = dir, .map_bytes = map_bytes});
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

// Some megabytes, half of which are then deleted.
void make_store(const std::string& dir) {
  const auto store = must_open(dir);
  ASSERT_TRUE(store);
  for (int batch = 0; batch < 20; ++batch)
    ASSERT_TRUE(store->run([&](kv::Transaction& txn) -> Status {
      for (int i = 0; i < 100; ++i)
        txn.put("k" + std::to_string(10'000 + batch * 100 + i), std::string(3'000, 'v'));
      return {};
    }));
  ASSERT_TRUE(store->run([](kv::Transaction& txn) -> Status {
    txn.erase_range({"k", "k11000"});
    return {};
  }));
}

std::vector<kv::KeyValue> entries_of(const std::string& dir) {
  std::vector<kv::KeyValue> entries;
  const auto store = must_open(dir);
  if (!store) return entries;
  const Status status = store->read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, reader.scan(kv::Range::all()));
    entries = found;
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return entries;
}

std::uint64_t file_bytes(const std::string& dir) {
  return fs::file_size(dir + "/data.mdb");
}

// A store, an older backup of it, a spare copy of its files, and what each holds.
struct Patient {
  Patient() {
    make_store(store());
    {
      const auto open = must_open(store());
      EXPECT_TRUE(open->copy_to(backup()).ok());
      EXPECT_TRUE(open->run([](kv::Transaction& txn) -> Status {
        txn.put("later", "than the backup");
        return {};
      }));
    }
    fs::copy(store(), dir / "spare", fs::copy_options::recursive);
    entries = entries_of(store());
    backup_entries = entries_of(backup());
  }
  std::string store() const { return dir / "store"; }
  std::string target() const { return dir / "copy"; }
  std::string backup() const { return dir / "backup"; }
  std::vector<std::string> command(const std::string& role) const {
    std::vector<std::string> words = {actor_path(), role, store()};
    if (role == "copy") words.push_back(target());
    if (role == "restore") words.push_back(backup());
    return words;
  }
  // Everything as it was at first.
  void reset() const {
    fs::remove_all(target());
    fs::remove_all(store());
    fs::copy(dir / "spare", store(), fs::copy_options::recursive);
  }
  // The store is whole, the old one or the one that was restored, and then the old one is kept.
  bool check_restored() const {
    const std::vector<kv::KeyValue> found = entries_of(store());
    EXPECT_FALSE(fs::exists(store() + "/data.mdb.new"));
    if (found == entries) return false;
    EXPECT_TRUE(found == backup_entries);
    std::vector<std::string> kept;
    for (const auto& entry : fs::directory_iterator(store()))
      if (entry.path().filename().string().starts_with("old-")) kept.push_back(entry.path());
    EXPECT_EQ(kept.size(), 1u);
    EXPECT_TRUE(!kept.empty() && entries_of(kept[0]) == entries);
    return true;
  }
  // The store is whole; so is the copy, if there is one. Tells whether the work was done.
  bool check(const std::string& role) const {
    if (role == "restore") return check_restored();
    const bool copied = fs::exists(target() + "/data.mdb");
    const bool compacted = file_bytes(store()) < file_bytes(dir / "spare");
    EXPECT_TRUE(entries_of(store()) == entries);
    EXPECT_FALSE(fs::exists(store() + "/data.mdb.new"));
    EXPECT_TRUE(!copied || entries_of(target()) == entries);
    EXPECT_FALSE(role == "copy" && compacted);
    return role == "copy" ? copied : compacted;
  }

  TempDir dir;
  std::vector<kv::KeyValue> entries;
  std::vector<kv::KeyValue> backup_entries;
};

std::vector<std::string> traced(const std::vector<std::string>& options,
                                const std::vector<std::string>& command) {
  std::vector<std::string> words = {"strace", "-f", "-qq"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

constexpr const char* kCalls =
    "write,pwrite64,fsync,fdatasync,openat,rename,link,unlink,mkdir,flock,fcntl,fchmod,close";

// The system calls after "begin", as strace counts them, for each thread by itself: "rename" 1,
// "write" 3. LMDB writes the copy in a thread of its own.
std::set<std::pair<std::string, unsigned>> find_calls(const Patient& patient,
                                                      const std::string& role) {
  const std::string trace = patient.dir / "trace";
  Child child(traced({"-o", trace, "-e", std::string("trace=") + kCalls}, patient.command(role)));
  child.read_lines();
  EXPECT_TRUE(child.wait().clean());
  std::set<std::pair<std::string, unsigned>> calls;
  std::map<std::string, unsigned> numbers;
  bool begun = false;
  std::istringstream lines(read_file(trace));
  const std::regex call(R"(^(\d+ +(\w+))\()");
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, call)) continue;
    if (line.find("\"" + role + " ok") != std::string::npos) break;
    const unsigned number = ++numbers[found[1]];
    if (begun) calls.emplace(found[2], number);
    begun = begun || line.find("\"begin") != std::string::npos;
  }
  return calls;
}

class CopyKills : public testing::TestWithParam<const char*> {};

TEST_P(CopyKills, at_every_system_call_leave_the_store_whole) {
  const std::string role = GetParam();
  const Patient patient;
  const auto calls = find_calls(patient, role);
  patient.reset();
  ASSERT_GT(calls.size(), 12u);
  unsigned done = 0;
  for (const auto& [call, number] : calls) {
    const std::string inject = "inject=" + call + ":signal=KILL:when=" + std::to_string(number);
    Child child(traced({"-o", "/dev/null", "-e", inject}, patient.command(role)));
    child.read_lines();
    EXPECT_EQ(child.wait().signal, SIGKILL) << inject;
    done += patient.check(role) ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << inject;
    patient.reset();
  }
  // Killed after the rename, the work is done; before it, not.
  EXPECT_GE(done, 2u);
  EXPECT_LE(done, 12u);
}

TEST_P(CopyKills, at_any_moment_leave_the_store_whole) {
  const std::string role = GetParam();
  const std::uint64_t seed = seed_or(SystemRandom().next() >> 32);
  std::cout << "run again: SLUICE_SEED=" << seed << " with the same filter" << std::endl;
  SeededRandom random(seed);
  const Patient patient;
  const std::uint64_t kills = RunSize{10, 30, 1'000}.pick();
  std::uint64_t done = 0;
  for (std::uint64_t i = 0; i < kills; ++i) {
    Child child(patient.command(role));
    ASSERT_EQ(child.read_line(), "begin");
    pause(std::chrono::microseconds(random.below(14'000)));
    child.kill();
    child.wait();
    done += patient.check(role) ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "kill " << i;
    patient.reset();
  }
  print_figure(role + "_kills", kills);
  print_figure(role + "_kills_too_late", done);
}

INSTANTIATE_TEST_SUITE_P(Of, CopyKills, testing::Values("copy", "compact", "restore"),
                         [](const auto& param) { return std::string(param.param); });

// What a power cut leaves depends on it: the file, then its name, then the name's directory.
TEST_P(CopyKills, would_find_everything_synced_in_its_order) {
  const std::string role = GetParam();
  const Patient patient;
  const std::string trace = patient.dir / "trace";
  Child child(traced({"-y", "-o", trace, "-e", "trace=write,pwrite64,fsync,fdatasync,rename"},
                     patient.command(role)));
  child.read_lines();
  ASSERT_TRUE(child.wait().clean());
  const std::string text = read_file(trace);
  const std::string where = role == "copy" ? patient.target() : patient.store();
  const auto first = [&](const std::string& what) { return text.find(what); };
  const auto fsync_of = [](const std::string& path) { return path + ">)"; };
  const std::size_t data_written = text.rfind("data.mdb.new>, \"");
  const std::size_t data_synced = text.rfind(fsync_of(where + "/data.mdb.new"));
  const std::size_t renamed = first("rename(\"" + where);
  const std::size_t dir_synced = text.rfind(fsync_of(where));
  ASSERT_NE(dir_synced, std::string::npos) << text;
  ASSERT_NE(renamed, std::string::npos) << text;
  EXPECT_LT(data_written, data_synced);
  EXPECT_LT(data_synced, renamed);
  EXPECT_LT(renamed, dir_synced);
  const std::size_t time_synced = first(fsync_of(where + "/bell"));
  EXPECT_TRUE(role == "compact" || time_synced < renamed);
}

TEST(CompactBetweenProcesses, is_refused_while_another_has_the_store_open) {
  const Patient patient;
  Child reader({actor_path(), "hold_read", patient.store()});
  ASSERT_EQ(reader.read_line(), "holding");
  EXPECT_EQ(kv::compact_lmdb({.dir = patient.store()}).code(), Code::unavailable);
  EXPECT_EQ(file_bytes(patient.store()), file_bytes(patient.dir / "spare"));
  // Nothing of a killed process is in the way, not even its slot in the table of readers.
  reader.kill();
  reader.wait();
  EXPECT_TRUE(kv::compact_lmdb({.dir = patient.store()}).ok());
  EXPECT_TRUE(patient.check("compact"));
  EXPECT_LE(must_open(patient.store())->stats().readers, 1u);
}

bool wait_for_lock(const std::string& pattern) {
  const std::regex line("(^|\\n)\\d+: " + pattern);
  return wait_until([&] { return std::regex_search(read_file("/proc/locks"), line); });
}

// Starts a compaction and stops its process when the new file is there but has not yet its name.
// Nothing if it was too quick.
std::optional<Child> stop_in_the_middle(const Patient& patient) {
  Child compactor(patient.command("compact"));
  EXPECT_EQ(compactor.read_line(), "begin");
  const auto id = static_cast<id_t>(compactor.pid());
  siginfo_t ended{};
  while (!fs::exists(patient.store() + "/data.mdb.new") && ended.si_pid == 0) {
    sched_yield();
    waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT);
  }
  ::kill(compactor.pid(), SIGSTOP);
  siginfo_t stopped{};
  waitid(P_PID, id, &stopped, WSTOPPED | WEXITED | WNOWAIT);
  if (!fs::exists(patient.store() + "/data.mdb.new")) return std::nullopt;
  return compactor;
}

// One that had opened the old file would commit into what is about to be removed.
TEST(CompactBetweenProcesses, whoever_opens_meanwhile_waits_and_gets_the_new_file) {
  const Patient patient;
  std::optional<Child> compactor;
  ASSERT_TRUE(wait_until([&] {
    patient.reset();
    if (auto stopped = stop_in_the_middle(patient)) compactor.emplace(std::move(*stopped));
    return compactor.has_value();
  }));
  Child writer({actor_path(), "commit_one", patient.store(), "late", "-"});
  EXPECT_TRUE(wait_for_lock("-> FLOCK .* " + std::to_string(writer.pid()) + " "));
  EXPECT_EQ(file_bytes(patient.store()), file_bytes(patient.dir / "spare"));
  EXPECT_EQ(kv::compact_lmdb({.dir = patient.store()}).code(), Code::unavailable);
  ::kill(compactor->pid(), SIGCONT);
  EXPECT_EQ(compactor->read_line(), "compact ok");
  EXPECT_EQ(writer.read_line(), "committed");
  EXPECT_TRUE(writer.wait().clean());
  EXPECT_EQ(entries_of(patient.store()).size(), patient.entries.size() + 1);
}

TEST(CompactBetweenProcesses, goes_on_beside_processes_that_open_and_close_all_the_time) {
  const Patient patient;
  std::uint64_t compacted = 0;
  std::uint64_t committed = 0;
  for (int round = 0; round < 40; ++round) {
    Child writer({actor_path(), "commit_one", patient.store(), "w" + std::to_string(round), "-"});
    if (round % 2 == 0) writer.read_line();
    const Status status = kv::compact_lmdb({.dir = patient.store()});
    EXPECT_TRUE(status.ok() || status.code() == Code::unavailable) << status.to_string();
    compacted += status.ok() ? 1 : 0;
    writer.read_lines();
    committed += writer.wait().clean() ? 1 : 0;
  }
  EXPECT_EQ(committed, 40u);
  EXPECT_EQ(entries_of(patient.store()).size(), patient.entries.size() + 40);
  print_figure("compact_between_openings", compacted);
}

TEST(CopyBetweenProcesses, has_the_map_size_that_another_process_has_set) {
  const TempDir dir;
  const auto store = must_open(dir / "store", 16 << 20);
  Child writer({actor_path(), "commit_one", dir / "store", "k", "-"});
  EXPECT_EQ(writer.read_line(), "committed");
  EXPECT_EQ(store->stats().map_bytes, 16u << 20);
  ASSERT_TRUE(store->copy_to(dir / "copy").ok());
  EXPECT_EQ(must_open(dir / "copy", 1 << 20)->stats().map_bytes, 256u << 20);
}

// In a mount namespace of this process, so that nothing of it is left behind.
bool mount_small_disk(const std::string& dir) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("sluice-test", dir.c_str(), "tmpfs", 0, "size=9m") == 0;
}

TEST(CopyOnAFullDisk, leaves_nothing_behind) {
  const TempDir disk;
  const Patient patient;
  if (!mount_small_disk(disk.path()))
    GTEST_SKIP() << "cannot mount a tmpfs (needs root): " << std::strerror(errno);
  {
    const auto store = must_open(patient.store());
    write_file(disk / "filler", std::string(6 << 20, 'x'));
    EXPECT_EQ(store->copy_to(disk / "copy").code(), Code::storage_full);
    EXPECT_FALSE(fs::exists(disk / "copy"));
    fs::create_directory(disk / "empty");
    EXPECT_EQ(store->copy_to(disk / "empty").code(), Code::storage_full);
    EXPECT_TRUE(fs::is_empty(disk / "empty"));
    fs::remove(disk / "filler");
    const Status roomy = store->copy_to(disk / "copy");
    EXPECT_TRUE(roomy.ok()) << roomy.to_string();
  }
  EXPECT_TRUE(entries_of(disk / "copy") == patient.entries);
  write_file(disk / "filler", std::string(2 << 20, 'x'));
  EXPECT_EQ(kv::compact_lmdb({.dir = disk / "copy"}).code(), Code::storage_full);
  EXPECT_FALSE(fs::exists(disk / "copy/data.mdb.new"));
  EXPECT_TRUE(entries_of(disk / "copy") == patient.entries);
  EXPECT_EQ(umount(disk.path().c_str()), 0);
}

}  // namespace
}  // namespace sluice::test
