// SPDX-License-Identifier: MIT
#include "migrate/retry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "migrate/folder_attempt.h"
#include "migrate/plan.h"

namespace sluice::migrate {

Result<std::optional<FolderId>> find_folder(kv::Store& store, std::string_view path) {
  FolderId id = kRoot;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name.empty() || name == ".") continue;
    std::optional<Folder> folder;
    SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(found, read_folder(reader, Side::src, id));
      folder = std::move(found);
      return {};
    }));
    if (!folder) return std::optional<FolderId>();
    BlockStream block(
        store,
        {.part = Part::src, .id = id, .generation = folder->generation, .chunks = folder->chunks});
    FolderId child = 0;
    for (;;) {
      SLUICE_LET(entry, block.next());
      if (entry == nullptr || entry->name > name) break;
      if (entry->name == name) child = entry->id;
    }
    if (child == 0) return std::optional<FolderId>();
    id = child;
  }
  return std::optional<FolderId>(id);
}

namespace {

using Marks = std::set<std::pair<Side, FolderId>>;

/// A directory that is to be listed again; `shallow`: without what is below it.
Status mark(kv::Store& store, Side side, FolderId id, bool shallow, Change& change) {
  return store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(src, read_folder(reader, Side::src, id));
    SLUICE_LET(folder, read_folder(reader, side, id));
    if (!folder || !src) return {};
    FolderTask task{.side = side,
                    .level = folder->level,
                    .id = id,
                    .pending = {.presence = folder->presence,
                                .generation = folder->generation + 1,
                                .set_attributes = folder->set_attributes,
                                .shallow = shallow}};
    if (side == Side::src) {
      task.pending.parent = src->parent;
      task.pending.name = src->name;
    }
    make_pending(change, side, task, folder);
    return {};
  });
}

/// The parent is looked at again too, for the directory's own attributes; on the destination it
/// then sees to the directory. Returns the parent; nothing for the root.
Result<std::optional<FolderId>> mark_top(kv::Store& store, Side side, FolderId id, Change& change) {
  std::optional<FolderId> parent;
  std::optional<Folder> dst;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(src, read_folder(reader, Side::src, id));
    SLUICE_LET(found, read_folder(reader, Side::dst, id));
    if (src && id != kRoot) parent = src->parent;
    dst = std::move(found);
    return {};
  }));
  if (side == Side::src || !parent || !dst) {
    SLUICE_TRY(mark(store, side, id, false, change));
    return parent;
  }
  dst->relist = true;
  change.put(keys::folder(Side::dst, id), encode(*dst));
  return parent;
}

/// Every directory that is failed, or whose own listing is in doubt. Where a source's listing
/// failed, the destination's must follow; an unknown one below it is listed again when that is.
Status find_failed(kv::Store& store, Marks& marks) {
  for (const Side side : {Side::src, Side::dst}) {
    SLUICE_TRY(each_folder(store, side, [&](FolderId id, const Folder& folder) {
      const bool doubtful = folder.status == TraversalStatus::failed || folder.changed;
      if (!doubtful) return;
      if (side == Side::src) marks.emplace(Side::src, id);
      marks.emplace(Side::dst, id);
    }));
  }
  return {};
}

/// Their counters were moved by what is in there now.
Status check_exclusions(kv::Store& store, const Marks& marks) {
  return store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(rows, reader.scan(keys::exclusions()));
    std::set<std::pair<FolderId, std::string>> excluded;
    const auto refuse = [](std::string_view path) {
      return Status(Code::conflict, "'" + std::string(path) +
                                        "' is excluded, and to be listed again; include it first");
    };
    for (const kv::KeyValue& row : rows) {
      SLUICE_LET(key, keys::parse_exclusion(row.key));
      SLUICE_LET(exclusion, decode_exclusion(row.value));
      excluded.emplace(key.folder, key.name);
      for (FolderId id = key.folder; id != kAboveRoot;) {
        if (marks.contains({Side::src, id}) || marks.contains({Side::dst, id}))
          return refuse(exclusion.path);
        SLUICE_LET(folder, read_folder(reader, Side::src, id));
        id = folder ? folder->parent : kAboveRoot;
      }
    }
    if (excluded.empty()) return {};
    for (const auto& mark : marks) {
      for (FolderId id = mark.second; id != kRoot;) {
        SLUICE_LET(folder, read_folder(reader, Side::src, id));
        if (!folder) break;
        if (excluded.contains({folder->parent, folder->name})) return refuse(folder->name);
        id = folder->parent;
      }
    }
    return {};
  });
}

Status begin_sweep(kv::Store& store, const Marks& marks, Change& change) {
  if (marks.empty()) return {};
  return store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(state, read_state(reader));
    ++state.sweep;
    change.put(keys::state(), encode(state));
    return {};
  });
}

/// What is below another one that is marked is listed again with it.
Result<bool> is_covered(kv::Store& store, const Marks& marks, Side side, FolderId id) {
  bool covered = false;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    covered = false;
    while (id != kRoot && !covered) {
      SLUICE_LET(folder, read_folder(reader, Side::src, id));
      if (!folder) return {};
      id = folder->parent;
      covered = marks.contains({side, id});
    }
    return {};
  }));
  return covered;
}

}  // namespace

Result<std::uint64_t> mark_for_retry(kv::Store& store, const RetryWish& wish) {
  Marks marks;
  if (wish.all) {
    marks = {{Side::src, kRoot}, {Side::dst, kRoot}};
  } else {
    for (const std::string& path : wish.paths) {
      SLUICE_LET(id, find_folder(store, path));
      if (!id)
        return error(Code::not_found, "the ledger knows no directory '" + path +
                                          "' of the source; `ls` shows what it knows");
      marks.emplace(Side::src, *id);
      marks.emplace(Side::dst, *id);
    }
    if (wish.failed) SLUICE_TRY(find_failed(store, marks));
  }
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(pending, is_pending(reader));
    if (!pending) return {};
    return {Code::conflict, "the comparison is not finished; run it again first, then retry"};
  }));
  SLUICE_TRY(check_exclusions(store, marks));
  Change change;
  SLUICE_TRY(begin_sweep(store, marks, change));
  std::uint64_t marked = 0;
  Marks parents;
  const auto write_some = [&]() -> Status {
    if (change.bytes() < kChangeBytesMax) return {};
    return write(store, std::exchange(change, {}));
  };
  for (const auto& [side, id] : marks) {
    SLUICE_LET(covered, is_covered(store, marks, side, id));
    if (covered) continue;
    SLUICE_LET(parent, mark_top(store, side, id, change));
    if (parent) parents.emplace(side, *parent);
    ++marked;
    SLUICE_TRY(write_some());
  }
  for (const auto& [side, id] : parents) {
    SLUICE_TRY(mark(store, side, id, true, change));
    SLUICE_TRY(write_some());
  }
  if (!change.empty()) SLUICE_TRY(write(store, change));
  return marked;
}

}  // namespace sluice::migrate
