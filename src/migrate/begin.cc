// SPDX-License-Identifier: MIT
#include "migrate/begin.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "migrate/folder_attempt.h"
#include "migrate/plan.h"

namespace sluice::migrate {
namespace {

/// The block above the root: the root's own entry, named ".".
std::string root_chunk(const Listing& one) {
  ChunkWriter writer;
  Entry root = one.at(0);
  root.name = ".";
  root.id = kRoot;
  (void)writer.add(root);
  return writer.finish();
}

Folder above_root(std::uint32_t chunks, Presence presence) {
  return {.status = TraversalStatus::successful,
          .presence = presence,
          .generation = 1,
          .chunks = chunks,
          .entries = chunks};
}

Status write(kv::Store& store, const Change& change) {
  return status_of(store.run([&](kv::Transaction& txn) -> Status {
    change.apply(txn);
    for (const auto& [key, delta] : change.tallies()) txn.add(keys::tally(key), delta);
    return {};
  }));
}

struct Roots {
  Presence presence = Presence::present;  // Of the destination's.
  bool set_attributes = false;
};

/// What stands above the roots: their own entries, and how they compare.
Result<Roots> write_roots(Change& change, const Settings& settings, Tree& src, Tree& dst) {
  Listing src_root;
  Listing dst_root;
  if (const Fault fault = src.stat_root(src_root); !fault.ok())
    return error(Code::not_found,
                 "the source " + settings.src + " cannot be read: " + errno_name(fault.error));
  const Fault fault = dst.stat_root(dst_root);
  if (!fault.ok() && fault.error != ENOENT)
    return error(Code::not_found,
                 "the destination " + settings.dst + " cannot be read: " + errno_name(fault.error));
  const Presence presence = fault.ok() ? Presence::present : Presence::absent;
  Folder above_dst = above_root(fault.ok() ? 1 : 0, presence);
  const Entry src_entry = src_root.at(0);
  const Entry dst_entry = fault.ok() ? dst_root.at(0) : Entry{};
  const Verdict verdict =
      compare(&src_entry, fault.ok() ? &dst_entry : nullptr, settings.rules).verdict;
  const CopyStatus copy = copy_status(verdict);
  above_dst.tallies[{.what = Tally::verdict, .which = static_cast<std::uint8_t>(verdict)}] = 1;
  above_dst.tallies[{.what = Tally::copy_folders, .which = static_cast<std::uint8_t>(copy)}] = 1;
  change.add(above_dst.tallies, 1);
  change.put(keys::folder(Side::src, kAboveRoot), encode(above_root(1, Presence::present)));
  change.put(keys::chunk(Part::src, kAboveRoot, 1, 0), root_chunk(src_root));
  change.put(keys::folder(Side::dst, kAboveRoot), encode(above_dst));
  change.erase_range(keys::chunks_of(Part::copied, kAboveRoot));
  if (fault.ok())
    change.put(keys::chunk(Part::dst, kAboveRoot, 1, 0), root_chunk(dst_root));
  else
    change.erase(keys::chunk(Part::dst, kAboveRoot, 1, 0));
  return Roots{.presence = presence, .set_attributes = copy == CopyStatus::pending};
}

Result<Change> first_change(const Settings& settings, Tree& src, Tree& dst) {
  Change change;
  SLUICE_LET(roots, write_roots(change, settings, src, dst));
  change.put(keys::settings(), encode(settings));
  make_pending(change, Side::src, {.side = Side::src, .id = kRoot}, std::nullopt);
  make_pending(change, Side::dst,
               {.side = Side::dst,
                .id = kRoot,
                .pending = {.presence = roots.presence, .set_attributes = roots.set_attributes}},
               std::nullopt);
  return change;
}

/// Everything is to be listed again: the roots, too.
Status refresh_roots(kv::Store& store, const Settings& settings, Tree& src, Tree& dst) {
  Change change;
  std::optional<Folder> above;
  std::optional<PendingFolder> pending;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(folder, read_folder(reader, Side::dst, kAboveRoot));
    SLUICE_LET(root, read_pending(reader, Side::dst, 0, kRoot));
    SLUICE_LET(listing, read_pending(reader, Side::src, 0, kRoot));
    above = std::move(folder);
    pending = listing ? std::move(root) : std::nullopt;
    return {};
  }));
  if (!above || !pending || pending->generation == 1 || pending->expanded) return {};
  change.add(above->tallies, -1);
  SLUICE_LET(roots, write_roots(change, settings, src, dst));
  pending->presence = roots.presence;
  pending->set_attributes = roots.set_attributes;
  change.put(keys::pending(Side::dst, 0, kRoot), encode(*pending));
  return write(store, change);
}

}  // namespace

Result<State> begin_ledger(kv::Store& store, const Settings& settings, Tree& src, Tree& dst) {
  std::optional<Settings> kept;
  State state;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, read_settings(reader));
    SLUICE_LET(stands, read_state(reader));
    kept = std::move(found);
    state = stands;
    return {};
  }));
  if (!kept) {
    SLUICE_LET(change, first_change(settings, src, dst));
    state = {.sweep = 1};
    change.put(keys::state(), encode(state));
    SLUICE_TRY(write(store, change));
    return state;
  }
  std::string what;
  for (const std::string& difference : differences(*kept, settings)) what += "\n  " + difference;
  if (what.empty()) {
    SLUICE_TRY(refresh_roots(store, settings, src, dst));
    return state;
  }
  return error(
      Code::invalid_argument,
      "this ledger is of another comparison; use another --state, or the same words:" + what);
}

// ------------------------------------------------------------------------------------------- drop

namespace {

/// Half of what a transaction may hold.
constexpr std::size_t kPieceBytesMax = kv::kTransactionBytesMax / 2;

/// The directories in it are to follow it. Harmless if that has been said, or done, before.
Status drop_children(kv::Store& store, FolderId id, const Folder& folder) {
  BlockStream block(
      store,
      {.part = Part::src, .id = id, .generation = folder.generation, .chunks = folder.chunks});
  Change change;
  for (;;) {
    SLUICE_LET(entry, block.next());
    if (entry == nullptr) break;
    if (entry->id != 0) change.put(keys::drop(entry->id), "");
    if (change.bytes() < kPieceBytesMax) continue;
    SLUICE_TRY(write(store, change));
    change = {};
  }
  return change.empty() ? Status() : write(store, change);
}

/// One side of a directory leaves the ledger.
Status drop_side(kv::Store& store, Side side, FolderId id, Change& change) {
  std::optional<Folder> folder;
  bool pending = false;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, read_folder(reader, side, id));
    folder = std::move(found);
    if (!folder) return {};
    SLUICE_LET(waiting, read_pending(reader, side, folder->level, id));
    pending = waiting.has_value();
    return {};
  }));
  if (!folder) return {};
  if (side == Side::src) SLUICE_TRY(drop_children(store, id, *folder));
  change.add(folder->tallies, -1);
  const auto counted =
      pending ? std::optional(TraversalStatus::pending) : counted_as(side, *folder);
  if (counted) change.add(tally_of(side, folder->level, *counted), -1);
  change.erase(keys::folder(side, id));
  change.erase(keys::pending(side, folder->level, id));
  change.erase_range(keys::chunks_of(part_of(side), id));
  if (side == Side::src) return {};
  change.erase_range(keys::chunks_of(Part::copied, id));
  for (std::uint8_t pass = 0; pass < kPasses; ++pass)
    change.erase_range(keys::work_of(static_cast<Pass>(pass), folder->level, id));
  return {};
}

/// One directory leaves the ledger; those in it are to follow.
Status drop_folder(kv::Store& store, FolderId id) {
  Change change;
  change.erase(keys::drop(id));
  for (const Side side : {Side::src, Side::dst}) SLUICE_TRY(drop_side(store, side, id, change));
  return write(store, change);
}

}  // namespace

Result<std::uint64_t> drop_vanished(kv::Store& store) {
  std::uint64_t dropped = 0;
  for (;;) {
    std::vector<kv::KeyValue> found;
    SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(some, reader.scan(keys::drops(), {.limit = 256}));
      found = std::move(some);
      return {};
    }));
    if (found.empty()) return dropped;
    for (const kv::KeyValue& drop : found) {
      SLUICE_LET(id, keys::parse_drop(drop.key));
      SLUICE_TRY(drop_folder(store, id));
      ++dropped;
    }
  }
}

// ------------------------------------------------------------------------------------------ retry

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
    if (change.bytes() < kPieceBytesMax) return {};
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
