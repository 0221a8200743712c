// SPDX-License-Identifier: MIT
#include "migrate/ledger_testing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/check.h"
#include "migrate/begin.h"
#include "migrate/verify.h"
#include "migrate/walk.h"

namespace sluice::migrate::testing {
namespace {

namespace fs = std::filesystem;

void set_time(const std::string& path) {
  const timespec time{.tv_sec = 1'700'000'000, .tv_nsec = 5};
  const std::array<timespec, 2> times{time, time};
  SLUICE_CHECK(::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0);
}

std::string entry_text(const Entry* entry) {
  if (entry == nullptr) return "-";
  std::string text(kind_name(entry->kind));
  for (const std::uint64_t number :
       {std::uint64_t{entry->mode}, entry->size, std::uint64_t{entry->error}})
    text += " " + std::to_string(number);
  // A folder's own time moves when a test changes what is in it.
  if (entry->kind != Kind::folder) text += " " + std::to_string(entry->mtime_ns);
  if (entry->excluded) text += " excluded";
  return text.append(" ").append(entry->target);
}

std::string folder_text(const Folder* folder) {
  if (folder == nullptr) return "-";
  return std::string(status_name(folder->status)) + " " +
         std::to_string(static_cast<unsigned>(folder->presence)) + " " +
         std::to_string(folder->entries) + (folder->changed ? " changed" : "");
}

}  // namespace

// ------------------------------------------------------------------------------------------ trees

std::map<std::string, int> ScriptedTree::take_lists() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lists_, {});
}

Fault ScriptedTree::list(std::string_view path, const FolderStamp& seen, Listing& scratch,
                         const PageSink& sink) {
  Fault fault;
  {
    const std::lock_guard lock(mutex_);
    ++lists_[std::string(path)];
    const int attempt = ++attempts_[std::string(path)];
    if (script_) fault = script_(path, attempt);
  }
  if (fault.error != 0) return fault;
  const Fault found = tree_->list(path, seen, scratch, sink);
  return found.ok() ? fault : found;
}

Trees::Trees(const std::vector<Filter>& filters) {
  const auto open = [&](const std::string& name) {
    fs::create_directories(dir / name);
    auto tree = open_local_tree({.root = dir / name, .filters = filters});
    return std::make_unique<ScriptedTree>(std::move(tree).value());
  };
  src = open("src");
  dst = open("dst");
  settings = {.src = src->name(), .dst = dst->name(), .rules = {.times = false}};
  for (const Filter& filter : filters) settings.filters.push_back(filter.glob);
}

void Trees::file(std::string_view side, const std::string& path, const std::string& content) {
  const std::string whole = dir / (std::string(side) + "/" + path);
  fs::create_directories(fs::path(whole).parent_path());
  test::write_file(whole, content);
  set_time(whole);
}

void Trees::folder(std::string_view side, const std::string& path) {
  fs::create_directories(dir / (std::string(side) + "/" + path));
}

void Trees::both(const std::string& path, const std::string& content) {
  file("src", path, content);
  file("dst", path, content);
}

std::unique_ptr<Trees> everything() {
  auto trees = std::make_unique<Trees>(std::vector<Filter>{{"*.tmp"}});
  trees->both("same", "same");
  trees->both("content", "longer on the source");
  trees->file("dst", "content", "short");
  trees->file("src", "missing", "missing");
  trees->file("dst", "extra", "extra");
  trees->file("dst", "extras/below", "never opened");
  trees->folder("src", "clash_folder/below");
  trees->file("dst", "clash_folder");
  trees->file("src", "clash_file");
  trees->folder("dst", "clash_file");
  trees->both("attributes", "same");
  fs::permissions(trees->dir / "dst/attributes", fs::perms::owner_read);
  trees->both("kept.tmp", "left out");
  trees->both("folder.tmp/below", "left out");
  trees->both("deep/er/est/file", "same");
  trees->file("src", "deep/er/missing/and/below", "missing");
  trees->folder("src", "deep/empty");
  trees->file("dst", "deep/er/extra", "extra");
  for (const char* name : {"locked/a", "locked/below/b", "sealed/a", "sealed/below/b"})
    trees->both(name, "same");
  fs::create_symlink("same", trees->dir / "src/link");
  set_time(trees->dir / "src/link");
  for (int i = 0; i < 900; ++i) {
    // Names that share nothing fill chunks.
    const std::string name = std::to_string(i * 7919 % 1000) + std::string(180, 'n');
    trees->file("src", "big/" + name, "x");
    if (i % 3 != 0) trees->file("dst", "big/" + name, i % 3 == 1 ? "x" : "other");
  }
  const auto deny = [](std::string denied) {
    return [denied = std::move(denied)](std::string_view path, int) {
      return Fault{.error = path == denied ? EACCES : 0};
    };
  };
  trees->src->set_script(deny("locked"));
  trees->dst->set_script(deny("sealed"));
  return trees;
}

// ------------------------------------------------------------------------------------------- runs

RunOptions quick(unsigned threads) {
  return {.traversal = {.threads = threads, .backoff = {}}};
}

namespace {

Status compare_settled(kv::Store& store, const Settings& settings, Tree& src, Tree& dst,
                       RunOptions options) {
  SLUICE_LET(state, begin_ledger(store, settings, src, dst));
  SLUICE_TRY(drop_vanished(store));
  {
    runtime::ThreadExecutor executor;
    Traversal traversal(
        {.store = store, .src = src, .dst = dst, .settings = settings, .state = state},
        std::move(options.traversal), std::move(options.probe));
    SLUICE_TRY(traversal.run(executor, options.stop));
  }
  return status_of(drop_vanished(store));
}

}  // namespace

Status compare_trees(kv::Store& store, Trees& trees, RunOptions options) {
  return compare_settled(store, trees.settings, *trees.src, *trees.dst, std::move(options));
}

Status compare_trees(kv::Store& store, Tree& src, Tree& dst, RunOptions options) {
  const Settings settings{.src = src.name(), .dst = dst.name()};
  return compare_settled(store, settings, src, dst, std::move(options));
}

std::vector<kv::KeyValue> rows_of(kv::Store& store) {
  std::vector<kv::KeyValue> rows;
  const Status read = store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, reader.scan(kv::Range::all()));
    rows = std::move(found);
    return {};
  });
  EXPECT_TRUE(read.ok()) << read.to_string();
  return rows;
}

Tallies tallies_of(kv::Store& store) {
  Tallies tallies;
  const Status read = store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, read_tallies(reader));
    tallies = std::move(found);
    return {};
  });
  EXPECT_TRUE(read.ok()) << read.to_string();
  return tallies;
}

std::int64_t tally(kv::Store& store, Tally what, std::uint8_t which) {
  std::int64_t sum = 0;
  for (const auto& [key, count] : tallies_of(store))
    if (key.what == what && key.which == which) sum += count;
  return sum;
}

std::string dump(kv::Store& store) {
  std::string text;
  const Status walked = walk(store, {}, [&](const WalkItem& item) {
    text.append(item.path).append(" ").append(std::to_string(item.level));
    text.append(" | ").append(entry_text(item.src)).append(" | ").append(entry_text(item.dst));
    text.append(" | ").append(item.compared ? verdict_name(item.found.verdict) : "not compared");
    text.append(" ").append(std::to_string(item.found.differences & ~unsigned{kDiffTime}));
    text.append(" ").append(status_name(item.copy)).append(item.excluded ? " excluded" : "");
    text.append(" | ").append(folder_text(item.src_folder));
    text.append(" | ").append(folder_text(item.dst_folder)).append("\n");
    return true;
  });
  EXPECT_TRUE(walked.ok()) << walked.to_string();
  for (const auto& [key, count] : tallies_of(store)) {
    if (key.what == Tally::drift) continue;
    for (const std::uint64_t number : {std::uint64_t{static_cast<std::uint8_t>(key.what)},
                                       std::uint64_t{key.level}, std::uint64_t{key.which}})
      text += std::to_string(number) + " ";
    text += "= " + std::to_string(count) + "\n";
  }
  return text;
}

std::string problems(kv::Store& store) {
  const auto report = verify(store);
  if (!report) return report.error().to_string();
  std::string text;
  for (const std::string& problem : report->problems) text += problem + "\n";
  return text;
}

}  // namespace sluice::migrate::testing
