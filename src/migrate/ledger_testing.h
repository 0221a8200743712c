// SPDX-License-Identifier: MIT
// What the tests of the ledger share: trees that fail on purpose, whole comparisons, dumps.
#pragma once

#include <sluice/kv.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/ledger.h"
#include "migrate/local_tree.h"
#include "migrate/traversal.h"
#include "migrate/tree.h"
#include "tests/support/temp_dir.h"

namespace sluice::migrate::testing {

/// A tree that counts how often each directory is listed, and fails where it is told to.
class ScriptedTree final : public Tree {
 public:
  /// `fault`: of the nth listing (from 1) of a path. One that `changed` still delivers everything.
  using Script = std::function<Fault(std::string_view path, int attempt)>;
  explicit ScriptedTree(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}

  void set_script(Script script) { script_ = std::move(script); }
  /// How often each path was listed since the last call.
  std::map<std::string, int> take_lists();

  Fault list(std::string_view path, const FolderStamp& seen, Listing& scratch,
             const PageSink& sink) override;
  Fault stat_root(Listing& one) override { return tree_->stat_root(one); }
  Fault hash(std::string_view path, const Entry& entry, Hash& hash) override {
    return tree_->hash(path, entry, hash);
  }
  std::string name() const override { return tree_->name(); }

 private:
  std::unique_ptr<Tree> tree_;
  Script script_;
  std::mutex mutex_;
  std::map<std::string, int> lists_;
  std::map<std::string, int> attempts_;
};

/// Two trees on disk, with filters of their own.
struct Trees {
  explicit Trees(const std::vector<Filter>& filters = {});

  /// A path below either root; directories above it are made. Times are fixed, not the clock's.
  void file(std::string_view side, const std::string& path, const std::string& content = "");
  void folder(std::string_view side, const std::string& path);
  /// On both sides the same.
  void both(const std::string& path, const std::string& content);

  test::TempDir dir;
  std::unique_ptr<ScriptedTree> src;
  std::unique_ptr<ScriptedTree> dst;
  Settings settings;
};

/// One of everything: names on either side only, on both, different, of different kinds, excluded
/// by a filter; "locked" cannot be listed on the source, "sealed" not on the destination; "big" has
/// several chunks.
std::unique_ptr<Trees> everything();

struct RunOptions {
  TraversalOptions traversal = {};
  TraversalProbe probe = {};
  std::stop_token stop = {};
};
/// No waiting after faults.
RunOptions quick(unsigned threads = 2);

/// What a program does: begins or goes on, drops what vanished, lists, drops again.
Status compare_trees(kv::Store& store, Trees& trees, RunOptions options = quick());
Status compare_trees(kv::Store& store, Tree& src, Tree& dst, RunOptions options = quick());

/// Every row of the store.
std::vector<kv::KeyValue> rows_of(kv::Store& store);
/// Every name as walk() tells it, and every counter but drift: equal for equal trees, however they
/// were listed.
std::string dump(kv::Store& store);
/// Counters that are not zero.
Tallies tallies_of(kv::Store& store);
std::int64_t tally(kv::Store& store, Tally what, std::uint8_t which);
/// The problems that verify() finds, a line each.
std::string problems(kv::Store& store);

}  // namespace sluice::migrate::testing
