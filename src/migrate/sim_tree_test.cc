// SPDX-License-Identifier: MIT
#include "migrate/sim_tree.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <map>
#include <thread>

#include "migrate/testing.h"

namespace sluice::migrate {
namespace {

using testing::list_all;
using testing::Listed;
using namespace std::chrono_literals;

/// A tree with a clock of its own.
struct Sim {
  explicit Sim(const std::string& spec, std::vector<Filter> filters = {})
      : tree(open_sim_tree(spec, {.clock = clock, .filters = std::move(filters)}).value()) {}

  ManualClock clock;
  std::unique_ptr<Tree> tree;
};

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "/" + std::string(name);
}

std::string spelled(const Entry& entry) {
  std::string text(entry.name);
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(entry.kind), std::uint64_t{entry.mode}, std::uint64_t{entry.uid},
        std::uint64_t{entry.gid}, entry.size, static_cast<std::uint64_t>(entry.mtime_ns)})
    text += " " + std::to_string(number);
  return text + " " + std::string(entry.target);
}

/// Every node by its path, and every fault.
struct Walked {
  std::map<std::string, std::string> nodes;
  std::map<std::string, Kind> kinds;
  std::map<std::string, Fault> faults;
};

void walk(Tree& tree, const std::string& path, Walked& walked) {
  const Listed listed = list_all(tree, path);
  if (!listed.fault.ok()) {
    walked.faults[path] = listed.fault;
    return;
  }
  for (std::size_t index = 0; index < listed.all.size(); ++index) {
    const Entry entry = listed.all.at(index);
    const std::string whole = joined(path, entry.name);
    EXPECT_TRUE(walked.nodes.emplace(whole, spelled(entry)).second) << whole;
    walked.kinds[whole] = entry.kind;
    if (entry.kind == Kind::folder) walk(tree, whole, walked);
  }
}

Walked walked(const std::string& spec) {
  const Sim sim(spec);
  Walked all;
  walk(*sim.tree, "", all);
  return all;
}

TEST(SimTree, the_same_spec_makes_the_same_bytes_for_ever) {
  XXH64_hash_t sum = 0;
  for (const char* spec :
       {"sim:seed=7,depth=3", "sim:seed=7,depth=3,world=dst,presence=0.9,differ=0.2"})
    for (const auto& [path, text] : walked(spec).nodes)
      sum = XXH3_64bits_withSeed((path + text).data(), path.size() + text.size(), sum);
  // Ledgers and reports of old runs can only be compared if this stays.
  EXPECT_EQ(sum, 4630246698131448841u);
}

TEST(SimTree, has_as_many_nodes_as_are_counted) {
  for (const char* spec : {"sim:seed=7", "sim:seed=8,world=dst,presence=0.8,differ=0.1,depth=3",
                           "sim:depth=0", "sim:folders=1,files=0,depth=100"})
    EXPECT_EQ(walked(spec).nodes.size(), sim_nodes(spec).value()) << spec;
  EXPECT_EQ(sim_nodes("sim:depth=2,folders=3,files=5").value(), 3u + 9u + 13u * 5u);
  EXPECT_FALSE(sim_nodes("sim:nonsense"));
}

TEST(SimTree, folders_and_files_are_as_many_as_the_ranges_say) {
  std::map<std::size_t, int> files;
  for (int seed = 0; seed < 200; ++seed) {
    const Sim other("sim:depth=1,folders=2-4,files=5-6,seed=" + std::to_string(seed));
    const Listed listed = list_all(*other.tree, "");
    std::size_t folders = 0;
    for (std::size_t index = 0; index < listed.all.size(); ++index)
      folders += listed.all.at(index).kind == Kind::folder ? 1 : 0;
    EXPECT_GE(folders, 2u);
    EXPECT_LE(folders, 4u);
    ++files[listed.all.size() - folders];
  }
  EXPECT_EQ(files.size(), 2u);
  EXPECT_GT(files[5], 50);
  EXPECT_GT(files[6], 50);
}

TEST(SimTree, pages_are_of_the_size_asked_for_and_each_costs_a_latency) {
  const Sim sim("sim:folders=0,files=2500,latency=10ms,page=1000");
  const MonoTime before = sim.clock.mono();
  const Listed listed = list_all(*sim.tree, "");
  EXPECT_EQ(listed.all.size(), 2500u);
  EXPECT_EQ(listed.pages, 3u);
  EXPECT_EQ(listed.page_entries_max, 1000u);
  EXPECT_EQ(sim.clock.mono() - before, 30ms);
  const Sim exact("sim:folders=0,files=2000,latency=10ms,page=1000");
  EXPECT_EQ(list_all(*exact.tree, "").pages, 2u);
  const Sim empty("sim:folders=0,files=0,latency=10ms");
  const MonoTime start = empty.clock.mono();
  EXPECT_EQ(list_all(*empty.tree, "").pages, 0u);
  EXPECT_EQ(empty.clock.mono() - start, 10ms);
}

TEST(SimTree, a_folder_of_many_names_needs_little_memory) {
  const Sim sim("sim:folders=0,files=1000000");
  Listing scratch;
  std::size_t names = 0;
  std::size_t bytes_max = 0;
  EXPECT_TRUE(sim.tree
                  ->list("", {}, scratch,
                         [&](Listing& page) {
                           names += page.size();
                           bytes_max = std::max(bytes_max, page.bytes());
                           return true;
                         })
                  .ok());
  EXPECT_EQ(names, 1'000'000u);
  EXPECT_LT(bytes_max, 2u * 1024 * 1024);
}

TEST(SimTree, the_sink_ends_a_listing) {
  const Sim sim("sim:folders=0,files=100,page=10");
  Listing scratch;
  int pages = 0;
  EXPECT_TRUE(sim.tree->list("", {}, scratch, [&](Listing&) { return ++pages < 3; }).ok());
  EXPECT_EQ(pages, 3);
}

TEST(SimTree, what_does_not_exist_cannot_be_listed) {
  const Sim sim("sim:seed=3,depth=2");
  const Listed root = list_all(*sim.tree, "");
  std::string folder;
  std::string file;
  for (std::size_t index = 0; index < root.all.size(); ++index)
    (root.all.at(index).kind == Kind::folder ? folder : file) = root.all.at(index).name;
  EXPECT_TRUE(list_all(*sim.tree, folder).fault.ok());
  EXPECT_EQ(list_all(*sim.tree, file).fault.error, ENOTDIR);
  EXPECT_EQ(list_all(*sim.tree, file + "/x").fault.error, ENOTDIR);
  std::string other = folder;
  other[0] = other[0] == '0' ? '1' : '0';
  for (const std::string& path :
       {other, folder + "0", folder + "/", folder + "//" + folder, std::string("x"),
        std::string("0000-d99"), folder.substr(0, 6) + "0" + folder.substr(6)})
    EXPECT_EQ(list_all(*sim.tree, path).fault.error, ENOENT) << path;
}

TEST(SimTree, another_world_lacks_nodes_has_others_and_differs) {
  const Walked src = walked("sim:seed=5");
  const Walked dst = walked("sim:seed=5,world=dst,presence=0.9,differ=0.05,extra=0.1");
  std::size_t both = 0;
  std::size_t different = 0;
  std::size_t clashes = 0;
  std::size_t extra = 0;
  for (const auto& [path, text] : dst.nodes) {
    const auto found = src.nodes.find(path);
    if (found == src.nodes.end()) {
      ++extra;
      continue;
    }
    ++both;
    different += found->second != text ? 1 : 0;
    clashes += src.kinds.at(path) != dst.kinds.at(path) ? 1 : 0;
  }
  // Of nearly 25,000 nodes; what is below a folder that is missing is missing too.
  EXPECT_GT(both, src.nodes.size() / 2);
  EXPECT_LT(both, src.nodes.size() * 9 / 10);
  EXPECT_GT(extra, both / 20);
  EXPECT_NEAR(static_cast<double>(different), static_cast<double>(both) * 0.05,
              static_cast<double>(both) * 0.01);
  EXPECT_NEAR(static_cast<double>(clashes), static_cast<double>(different) / 4,
              static_cast<double>(different) / 10);
  // A third world is like neither.
  EXPECT_NE(walked("sim:seed=5,world=three,presence=0.9,differ=0.05,extra=0.1").nodes, dst.nodes);
}

TEST(SimTree, another_world_is_hardly_larger_whatever_its_files_become) {
  const std::string spec = "sim:depth=1,folders=2,files=2000";
  const std::uint64_t src = sim_nodes(spec).value();
  EXPECT_LT(sim_nodes(spec + ",world=dst,differ=1").value(), 2 * src);
  EXPECT_LT(sim_nodes(spec + ",world=dst,extra=1").value(), 5 * src);
}

TEST(SimTree, a_world_that_lacks_nothing_and_differs_in_nothing_is_the_same) {
  EXPECT_EQ(walked("sim:seed=5,depth=3,world=dst").nodes, walked("sim:seed=5,depth=3").nodes);
  EXPECT_NE(walked("sim:seed=6,depth=3").nodes, walked("sim:seed=5,depth=3").nodes);
}

TEST(SimTree, the_first_world_is_complete_whatever_is_said_of_others) {
  EXPECT_EQ(walked("sim:seed=5,depth=3,presence=0.5,differ=0.5,extra=0.5").nodes,
            walked("sim:seed=5,depth=3").nodes);
}

TEST(SimTree, faults_come_in_all_kinds_and_the_passing_ones_pass) {
  const std::string spec = "sim:seed=4,errors=0.1,heal=2";
  const Sim sim(spec);
  std::map<int, int> errors;
  int halfway = 0;
  const Walked clean = walked("sim:seed=4");
  for (const auto& [path, kind] : clean.kinds) {
    if (kind != Kind::folder) continue;
    const Listed first = list_all(*sim.tree, path);
    if (first.fault.ok()) continue;
    ++errors[first.fault.error];
    halfway += first.fault.detail == "getdents64" && !first.all.empty() ? 1 : 0;
    EXPECT_EQ(list_all(*sim.tree, path).fault.error, first.fault.error);
    const Listed third = list_all(*sim.tree, path);
    EXPECT_EQ(third.fault.error, first.fault.error == EACCES ? EACCES : 0);
  }
  EXPECT_EQ(errors.size(), 3u);
  for (const int error : {EIO, ETIMEDOUT, EACCES}) EXPECT_GT(errors[error], 20) << error;
  EXPECT_GT(halfway, 20);
  EXPECT_TRUE(list_all(*sim.tree, "").fault.ok());
}

TEST(SimTree, what_fails_is_the_same_for_every_number_of_threads) {
  const std::string spec = "sim:seed=4,errors=0.1,mutate=0.1,heal=1";
  const Walked alone = walked(spec);
  EXPECT_GT(alone.faults.size(), 100u);
  const Sim sim(spec);
  std::vector<std::string> folders;
  for (const auto& [path, kind] : alone.kinds)
    if (kind == Kind::folder) folders.push_back(path);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t at = thread; at < folders.size(); at += 4) {
        const Listed listed = list_all(*sim.tree, folders[at]);
        const auto fault = alone.faults.find(folders[at]);
        const Fault expected = fault == alone.faults.end() ? Fault{} : fault->second;
        EXPECT_EQ(listed.fault.error, expected.error) << folders[at];
        EXPECT_EQ(listed.fault.changed, expected.changed) << folders[at];
      }
    });
}

TEST(SimTree, a_folder_that_changes_settles_after_a_reading_or_two) {
  const Sim sim("sim:depth=2,mutate=1,files=50");
  std::array<int, 2> readings{};
  const Walked all = walked("sim:depth=2,files=50");
  for (const auto& [path, kind] : all.kinds) {
    if (kind != Kind::folder) continue;
    const Listed first = list_all(*sim.tree, path);
    EXPECT_TRUE(first.fault.changed);
    EXPECT_EQ(first.fault.error, 0);
    const Listed second = list_all(*sim.tree, path);
    EXPECT_LT(first.all.size(), 50u);
    ++readings.at(second.fault.changed ? 1 : 0);
    const Listed third = list_all(*sim.tree, path);
    EXPECT_TRUE(third.fault.ok());
    EXPECT_GE(third.all.size(), 50u);
  }
  EXPECT_GT(readings[0], 0);
  EXPECT_GT(readings[1], 0);
}

TEST(SimTree, a_hash_follows_from_path_size_and_time) {
  const std::string both = "sim:seed=9,depth=1,files=200,folders=1";
  const Sim src(both);
  const Sim dst(both + ",world=dst,differ=0.5");
  const Listed here = list_all(*src.tree, "");
  const Listed there = list_all(*dst.tree, "");
  std::map<bool, int> same;
  std::map<Hash, int> seen;
  for (std::size_t index = 0; index < here.all.size(); ++index) {
    const Entry entry = here.all.at(index);
    const Entry other = there.at(entry.name);
    if (entry.kind != Kind::file || other.kind != Kind::file) continue;
    Hash hash{};
    Hash other_hash{};
    ASSERT_TRUE(src.tree->hash("", entry, hash).ok());
    ASSERT_TRUE(dst.tree->hash("", other, other_hash).ok());
    const bool equal = entry.size == other.size && entry.mtime_ns == other.mtime_ns;
    EXPECT_EQ(hash == other_hash, equal);
    ++same[equal];
    EXPECT_EQ(++seen[hash], 1);
  }
  EXPECT_GT(same[true], 10);
  EXPECT_GT(same[false], 10);
}

TEST(SimTree, a_hash_of_something_else_is_refused) {
  const Sim sim("sim:seed=9,depth=1,files=200,folders=1,latency=1ms");
  const Listed listed = list_all(*sim.tree, "");
  Hash hash{};
  for (std::size_t index = 0; index < listed.all.size(); ++index) {
    Entry entry = listed.all.at(index);
    EXPECT_EQ(sim.tree->hash("", entry, hash).changed, entry.kind != Kind::file);
    entry.size += 1;
    EXPECT_TRUE(sim.tree->hash("", entry, hash).changed);
    entry.size -= 1;
    entry.mtime_ns += 1;
    EXPECT_TRUE(sim.tree->hash("", entry, hash).changed);
    EXPECT_EQ(sim.tree->hash("none", entry, hash).error, ENOENT);
    entry.name = "none";
    EXPECT_EQ(sim.tree->hash("", entry, hash).error, ENOENT);
  }
}

TEST(SimTree, filters_exclude) {
  const Sim sim("sim:depth=1,folders=1,files=20", {{"*-f1*"}, {"/*-d0"}});
  const Listed listed = list_all(*sim.tree, "");
  int excluded = 0;
  for (std::size_t index = 0; index < listed.all.size(); ++index)
    excluded += listed.all.at(index).excluded ? 1 : 0;
  // f1, f10 to f19, d0.
  EXPECT_EQ(excluded, 12);
  EXPECT_FALSE(open_sim_tree("sim:", {.clock = sim.clock, .filters = {{""}}}));
}

TEST(SimTree, the_root_is_a_folder_without_a_name) {
  const Sim sim("sim:seed=7");
  Listing one;
  ASSERT_TRUE(sim.tree->stat_root(one).ok());
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one.at(0).name, "");
  EXPECT_EQ(one.at(0).kind, Kind::folder);
}

}  // namespace
}  // namespace sluice::migrate
