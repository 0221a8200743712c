// SPDX-License-Identifier: MIT
#include "migrate/sim_tree.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stop_token>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "migrate/sim_model.h"
#include "migrate/sim_spec.h"

namespace sluice::migrate {
namespace {

// What bits are drawn for; SimModel has the numbers below.
constexpr std::uint64_t kError = 101;
constexpr std::uint64_t kErrorKind = 102;
constexpr std::uint64_t kMutate = 103;
constexpr std::uint64_t kMutateKind = 104;
constexpr std::uint64_t kContent = 105;

constexpr std::size_t kCountedMax = 262'144;

/// How often something was tried. Thread-safe.
class Attempts {
 public:
  /// The number of this attempt, from 1; a very large one if too many others are counted.
  std::uint32_t count(std::uint64_t key) {
    const MutexLock lock(mutex_);
    if (counts_.size() >= kCountedMax && !counts_.contains(key))
      return std::numeric_limits<std::uint32_t>::max();
    return ++counts_[key];
  }

 private:
  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint32_t> counts_ SLUICE_GUARDED_BY(mutex_);
};

/// What is the matter with one listing of a folder.
struct Trouble {
  int error = 0;
  bool halfway = false;
  std::uint32_t mutation = 0;  ///< Its number, or 0: it does not change.
};

class SimTree final : public Tree {
 public:
  SimTree(const SimSpec& spec, Filters filters, const Clock& clock)
      : spec_(spec),
        model_(spec),
        filters_(std::move(filters)),
        clock_(clock),
        errors_(spec.errors),
        mutate_(spec.mutate) {}

  Fault list(std::string_view path, const FolderStamp& seen, Listing& scratch,
             const PageSink& sink) override;
  Fault stat_root(Listing& one) override;
  Fault hash(std::string_view path, const Entry& entry, Hash& hash) override;
  std::string name() const override { return sim_tree_name(spec_); }

 private:
  void wait() const;
  int find_folder(std::string_view path, SimFolder& folder) const;
  Trouble trouble_with(const SimFolder& folder);

  const SimSpec spec_;
  const SimModel model_;
  const Filters filters_;
  const Clock& clock_;
  const SimChance errors_;
  const SimChance mutate_;
  Attempts failures_;
  Attempts readings_;
};

void SimTree::wait() const {
  if (spec_.latency > Duration(0)) clock_.sleep_for(spec_.latency, std::stop_token());
}

/// 0, or why there is none.
int SimTree::find_folder(std::string_view path, SimFolder& folder) const {
  folder = model_.root();
  SimNode node;
  for (bool more = !path.empty(); more;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (!model_.find(folder, path.substr(0, end), node)) return ENOENT;
    if (node.entry.kind != Kind::folder) return ENOTDIR;
    folder = node.folder();
    more = end < path.size();
    if (more) path.remove_prefix(end + 1);
  }
  return 0;
}

Trouble SimTree::trouble_with(const SimFolder& folder) {
  Trouble trouble;
  if (errors_.possible() && folder.level > 0 && errors_.hits(model_.roll(folder.key, kError))) {
    const std::uint64_t bits = model_.roll(folder.key, kErrorKind);
    trouble.halfway = bits % 2 == 0;
    switch ((bits >> 8) % 3) {
      case 0:
        trouble.error = EIO;
        break;
      case 1:
        trouble.error = ETIMEDOUT;
        break;
      default:
        trouble.error = EACCES;
        return trouble;
    }
    if (failures_.count(folder.key) <= spec_.heal) return trouble;
    trouble = {};
  }
  if (mutate_.possible() && mutate_.hits(model_.roll(folder.key, kMutate))) {
    const std::uint64_t times = 1 + model_.roll(folder.key, kMutateKind) % 2;
    const std::uint32_t reading = readings_.count(folder.key);
    if (reading <= times) trouble.mutation = reading;
  }
  return trouble;
}

Fault SimTree::list(std::string_view path, const FolderStamp& /*seen*/, Listing& scratch,
                    const PageSink& sink) {
  wait();
  SimFolder folder;
  if (const int error = find_folder(path, folder); error != 0) return {error, "open"};
  const Trouble trouble = trouble_with(folder);
  if (trouble.error != 0 && !trouble.halfway) return {trouble.error, "open"};
  DirectoryFilter filter(filters_, path);
  const bool filtered = !filters_.empty();
  const std::uint64_t slots = model_.slots(folder) / (trouble.error != 0 ? 2 : 1);
  bool waited = true;
  SimNode node;
  scratch.clear();
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    if (!model_.at(folder, slot, node)) continue;
    // Part of what was there before the change: a consumer that believes it is wrong.
    if (trouble.mutation != 0 && mix(node.key, trouble.mutation) % 4 == 0) continue;
    if (filtered) node.entry.excluded = filter.matches(node.name.data());
    scratch.add(node.entry);
    if (scratch.size() < spec_.page) continue;
    if (!std::exchange(waited, false)) wait();
    if (!sink(scratch)) return {};
    scratch.clear();
  }
  if (!scratch.empty()) {
    if (!waited) wait();
    if (!sink(scratch)) return {};
  }
  if (trouble.error != 0) return {trouble.error, "getdents64"};
  if (trouble.mutation != 0) return {.detail = "getdents64", .changed = true};
  return {};
}

Fault SimTree::stat_root(Listing& one) {
  one.clear();
  one.add(model_.root_entry());
  return {};
}

Fault SimTree::hash(std::string_view path, const Entry& entry, Hash& hash) {
  wait();
  SimFolder folder;
  if (const int error = find_folder(path, folder); error != 0) return {error, "open"};
  SimNode node;
  if (!model_.find(folder, entry.name, node)) return {ENOENT, "open"};
  const Entry& real = node.entry;
  if (real.kind != Kind::file || entry.kind != Kind::file || real.size != entry.size ||
      real.mtime_ns != entry.mtime_ns)
    return {.detail = "read", .changed = true};
  std::uint64_t bits = mix(mix(node.key, kContent), real.size);
  for (std::uint8_t& byte : hash) {
    bits = mix(bits, static_cast<std::uint64_t>(real.mtime_ns));
    byte = static_cast<std::uint8_t>(bits >> 56);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Tree>> open_sim_tree(std::string_view spec, SimSeams seams) {
  SLUICE_LET(parsed, parse_sim_spec(spec));
  SLUICE_LET(filters, Filters::make(seams.filters));
  return std::make_unique<SimTree>(parsed, std::move(filters), seams.clock);
}

Result<std::uint64_t> sim_nodes(std::string_view spec) {
  SLUICE_LET(parsed, parse_sim_spec(spec));
  const SimModel model(parsed);
  std::uint64_t nodes = 0;
  std::vector<SimFolder> folders{model.root()};
  SimNode node;
  while (!folders.empty()) {
    const SimFolder folder = folders.back();
    folders.pop_back();
    for (std::uint64_t slot = 0, slots = model.slots(folder); slot < slots; ++slot) {
      if (!model.at(folder, slot, node)) continue;
      ++nodes;
      if (node.entry.kind == Kind::folder) folders.push_back(node.folder());
    }
  }
  return nodes;
}

}  // namespace sluice::migrate
