// SPDX-License-Identifier: MIT
#include "migrate/pull.h"

#include <algorithm>
#include <utility>

namespace sluice::migrate {
namespace {

/// A transaction's time is limited, and what it found may change behind it: not too many at once.
constexpr std::size_t kPullMax = 4'096;

/// Paths of parents. Neighbours in the index mostly share theirs, or what is above them, so the
/// last one is kept with the directories on the way to it.
class Paths {
 public:
  explicit Paths(kv::Reader& reader) : reader_(reader) {}

  Result<std::string> of(FolderId parent, std::string_view name) {
    if (parent == kAboveRoot) return std::string();
    SLUICE_TRY(go_to(parent));
    return join_path(path_, name);
  }

 private:
  struct Step {
    FolderId id = kRoot;
    std::size_t path_bytes = 0;  // Of path_: its own.
  };
  struct Missing {
    FolderId id = 0;
    std::string name;
  };

  /// Numbers grow on the way down.
  bool is_on_way(FolderId id) const { return std::ranges::binary_search(way_, id, {}, &Step::id); }

  Status go_to(FolderId id) {
    std::vector<Missing> missing;
    while (!is_on_way(id)) {
      SLUICE_LET(place, read_folder_place(reader_, id));
      if (!place || place->parent >= id)
        return {Code::corrupt, "a directory of the ledger has no parent"};
      missing.push_back({.id = id, .name = std::move(place->name)});
      id = place->parent;
    }
    while (way_.back().id != id) way_.pop_back();
    path_.resize(way_.back().path_bytes);
    for (; !missing.empty(); missing.pop_back()) {
      if (!path_.empty()) path_ += '/';
      path_ += missing.back().name;
      way_.push_back({.id = missing.back().id, .path_bytes = path_.size()});
    }
    return {};
  }

  kv::Reader& reader_;
  std::vector<Step> way_ = {{}};
  std::string path_;
};

/// The source's record says where it is; the destination's only what it is.
Result<FolderPlace> place_of(kv::Reader& reader, const FolderTask& task) {
  if (task.side == Side::src)
    return FolderPlace{.parent = task.pending.parent, .name = task.pending.name};
  SLUICE_LET(place, read_folder_place(reader, task.id));
  if (place) return std::move(*place);
  SLUICE_LET(pending, read_pending(reader, Side::src, task.level, task.id));
  if (!pending) return error(Code::corrupt, "a directory of the ledger has no counterpart");
  return FolderPlace{.parent = pending->parent, .name = std::move(pending->name)};
}

/// Whether something of its next block is written. That begins with the first chunk.
Result<bool> is_begun(kv::Reader& reader, const FolderTask& task) {
  return reader.visit(keys::chunk(part_of(task.side), task.id, task.pending.generation, 0),
                      [](std::string_view) {});
}

/// Whether a listing of any directory is being sorted by way of the ledger, or was.
Result<bool> has_runs(kv::Reader& reader) {
  SLUICE_LET(some, reader.scan(keys::chunks_of(Part::runs), {.limit = 1}));
  return !some.empty();
}

}  // namespace

Result<Pulled> pull_pending(kv::Store& store, Side side, std::size_t room,
                            const std::function<bool(Side, FolderId)>& known) {
  const std::size_t limit = std::min(room, kPullMax);
  Pulled pulled;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    bool full = false;
    Status status;
    std::vector<FolderTask> found;
    SLUICE_TRY(
        reader.scan(keys::pending_of(side), {}, [&](std::string_view key, std::string_view value) {
          const auto parsed = keys::parse_pending(key);
          const auto pending = decode_pending(value);
          status = parsed ? status_of(pending) : parsed.error();
          if (!status.ok()) return false;
          if (known(side, parsed->id)) return true;
          full = found.size() == limit;
          if (full) return false;
          found.push_back({.side = side,
                           .level = parsed->level,
                           .id = parsed->id,
                           .pending = *pending,
                           .in_ledger = true});
          return true;
        }));
    SLUICE_TRY(status);
    Paths paths(reader);
    SLUICE_LET(runs, has_runs(reader));
    for (FolderTask& task : found) {
      SLUICE_LET(place, place_of(reader, task));
      SLUICE_LET(path, paths.of(place.parent, place.name));
      SLUICE_LET(begun, is_begun(reader, task));
      task.path = std::move(path);
      task.leftovers = runs || begun;
    }
    pulled = {.tasks = std::move(found), .all = !full};
    return {};
  }));
  return pulled;
}

}  // namespace sluice::migrate
