// SPDX-License-Identifier: MIT
// A name holds the old content or the new one, whole, at every moment and after every kill.
#include <fcntl.h>
#include <signal.h>
#include <sluice/clock.h>
#include <sluice/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "migrate/copy_file.h"
#include "migrate/copy_testing.h"
#include "migrate/stat_entry.h"
#include "migrate/temp_name.h"
#include "tests/support/run_size.h"
#include "tests/support/waiting.h"

namespace sluice::migrate::testing {
namespace {

using std::chrono::microseconds;

/// Two versions of every name, in a folder each, that are copied to the destination in turns.
struct Versions {
  static constexpr const char* kNames[] = {"small", "large", "sparse"};

  Versions() {
    for (const char* side : {"src", "other"}) {
      std::filesystem::create_directories(trees.dir / side);
      const std::uint64_t seed = *side == 's' ? 1 : 2;
      const std::string base = (trees.dir / side) + "/";
      test::write_file(base + "small", random_bytes(20'000 + seed, seed));
      test::write_file(base + "large", random_bytes((3 << 20) + seed, seed));
      test::write_file(base + "sparse", random_bytes(300'000, seed));
      EXPECT_EQ(truncate((base + "sparse").c_str(), static_cast<off_t>((2 << 20) + seed)), 0);
      for (std::size_t n = 0; n < std::size(kNames); ++n)
        bytes[n].push_back(test::read_file(base + kNames[n]));
    }
    other.reset(open((trees.dir / "other").c_str(), O_PATH | O_CLOEXEC));
  }

  TwoTrees trees;
  Descriptor other;
  std::vector<std::string> bytes[std::size(kNames)];
};

/// Copies one version after the other over what is there; every few times as if it was new. Returns
/// only if something is wrong.
void copy_for_ever(const Versions& versions, const CopyRules& rules) {
  const int dst = versions.trees.dst.get();
  for (unsigned turn = 0;; ++turn)
    for (const char* name : Versions::kNames) {
      const int src = turn % 2 == 0 ? versions.trees.src.get() : versions.other.get();
      if (turn % 3 == 2) unlinkat(dst, name, 0);
      const Known known(src, name);
      const Entry wanted = known.entry();
      auto replaced = look_at(dst, name);
      const std::string temp = temp_name("kill", name);
      const auto copied = copy_file({.src = src,
                                     .dst = dst,
                                     .wanted = wanted,
                                     .replaced = replaced ? &*replaced : nullptr,
                                     .temp = temp},
                                    rules);
      if (!copied) return;
    }
}

/// Empty if every name is absent or whole; otherwise the name.
std::string partial_name(const Versions& versions) {
  for (std::size_t n = 0; n < std::size(Versions::kNames); ++n) {
    const std::string path = versions.trees.dst_path(Versions::kNames[n]);
    const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) continue;
    std::string found((3 << 20) + 100, '\0');
    const ssize_t got = read(fd.get(), found.data(), found.size());
    found.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (found != versions.bytes[n][0] && found != versions.bytes[n][1]) return Versions::kNames[n];
  }
  return {};
}

TEST(CopyKill, no_name_ever_holds_a_part_of_a_content) {
  const Versions versions;
  const std::uint64_t seed = test::seed_or(20'261'116);
  SeededRandom random(seed);
  const std::uint64_t kills = test::RunSize{20, 300, 20'000}.pick();
  std::uint64_t looks = 0;
  std::uint64_t leftovers = 0;
  const test::Stopwatch all;
  std::uint64_t n = 0;
  // Where the machine is slow, more are needed until enough of them hit what they are meant to.
  for (; n < kills || (leftovers <= kills / 20 && !all.reached(test::patience())); ++n) {
    const CopyRules rules{.verify = n % 4 == 3, .unnamed = n % 2 == 0};
    const pid_t child = fork();
    if (child == 0) {
      copy_for_ever(versions, rules);
      _exit(1);
    }
    const test::Stopwatch watch;
    const Duration lives = microseconds(random.below(30'000));
    do {
      ++looks;
      ASSERT_EQ(partial_name(versions), "") << "SLUICE_SEED=" << seed << " kill " << n;
    } while (!watch.reached(lives));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a copy failed by itself";
    ASSERT_EQ(partial_name(versions), "") << "SLUICE_SEED=" << seed << " kill " << n;
    const auto cleaned = clean_temps(versions.trees.dst.get());
    ASSERT_LE(cleaned.value_or(99), 1U);
    leftovers += *cleaned;
    ASSERT_LE(names_in(versions.trees.dir / "dst").size(), std::size(Versions::kNames));
  }
  EXPECT_GT(leftovers, kills / 20);
  test::print_figure("copy_kills", n);
  test::print_figure("copy_kill_looks", looks);
  test::print_figure("copy_kill_leftovers", leftovers);
}

}  // namespace
}  // namespace sluice::migrate::testing
