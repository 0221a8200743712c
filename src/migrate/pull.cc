// SPDX-License-Identifier: MIT
#include "migrate/pull.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sluice::migrate {
namespace {

/// A transaction's time is limited, and what it found may change behind it: not too many at once.
constexpr std::size_t kPullMax = 4'096;

/// Paths of parents: neighbours in the index mostly share theirs.
class Paths {
 public:
  explicit Paths(kv::Reader& reader) : reader_(reader) {}

  Result<std::string> of(FolderId parent, std::string_view name) {
    if (parent == kAboveRoot) return std::string();
    if (parent != last_) {
      SLUICE_LET(path, of_folder(parent));
      path_ = std::move(path);
      last_ = parent;
    }
    return join_path(path_, name);
  }

 private:
  Result<std::string> of_folder(FolderId id) {
    if (id == kRoot) return std::string();
    SLUICE_LET(folder, read_folder(reader_, Side::src, id));
    if (!folder) return error(Code::corrupt, "a directory of the ledger has no parent");
    return read_path(reader_, folder->parent, folder->name);
  }

  kv::Reader& reader_;
  FolderId last_ = kAboveRoot;
  std::string path_;
};

/// The source's record says where it is; the destination's only what it is.
Result<FolderTask> complete(kv::Reader& reader, Paths& paths, FolderTask task) {
  FolderId parent = task.pending.parent;
  std::string name = task.pending.name;
  if (task.side == Side::dst) {
    SLUICE_LET(folder, read_folder(reader, Side::src, task.id));
    if (folder) {
      parent = folder->parent;
      name = folder->name;
    } else {
      SLUICE_LET(pending, read_pending(reader, Side::src, task.level, task.id));
      if (!pending) return error(Code::corrupt, "a directory of the ledger has no counterpart");
      parent = pending->parent;
      name = pending->name;
    }
  }
  SLUICE_LET(path, paths.of(parent, name));
  task.path = std::move(path);
  return task;
}

}  // namespace

Result<Pulled> pull_pending(kv::Store& store, Side side, std::size_t room,
                            const std::function<bool(Side, FolderId)>& known) {
  const std::size_t limit = std::min(room, kPullMax);
  Pulled pulled;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    pulled = {};
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
                           .pulled = true});
          return true;
        }));
    SLUICE_TRY(status);
    Paths paths(reader);
    for (FolderTask& task : found) {
      SLUICE_LET(whole, complete(reader, paths, std::move(task)));
      pulled.tasks.push_back(std::move(whole));
    }
    pulled.all = !full;
    return {};
  }));
  return pulled;
}

}  // namespace sluice::migrate
