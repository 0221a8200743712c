// SPDX-License-Identifier: MIT
#include "migrate/retry.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "migrate/folder_attempt.h"
#include "migrate/plan.h"
#include "migrate/walk.h"

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

/// Of a chunk of what the copy did.
Result<bool> has_drifted_name(std::string_view chunk) {
  SLUICE_LET(reader, ChunkReader::open(chunk));
  for (;;) {
    SLUICE_LET(entry, reader.next());
    if (!entry) return false;
    const bool failed = static_cast<CopyOutcome>(entry->id) == CopyOutcome::failed;
    if (failed && (entry->error == kDriftedSrc || entry->error == kDriftedDst)) return true;
  }
}

/// The directories that are to be listed again.
struct Selection {
  Marks whole;   // With all that is below them.
  Marks itself;  // Without.
  /// Of both, those of the destination below another one: they are compared when that one has
  /// looked whether they are there, and whether their attributes are right.
  std::set<FolderId> led;

  bool is_whole(FolderId id) const {
    return whole.contains({Side::src, id}) || whole.contains({Side::dst, id});
  }
  bool is_led(Side side, FolderId id) const { return side == Side::dst && led.contains(id); }
};

Status mark(kv::Store& store, const Selection& selection, Side side, FolderId id, Change& change) {
  const bool whole = selection.whole.contains({side, id});
  return store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(src, read_folder(reader, Side::src, id));
    SLUICE_LET(folder, read_folder(reader, side, id));
    if (!folder || !src) return {};
    if (selection.is_led(side, id)) {
      folder->relist = whole ? Relist::whole : Relist::itself;
      change.put(keys::folder(side, id), encode(*folder));
      return {};
    }
    FolderTask task{.side = side,
                    .level = folder->level,
                    .id = id,
                    .pending = {.presence = folder->presence,
                                .generation = folder->generation + 1,
                                .set_attributes = folder->set_attributes,
                                .shallow = !whole}};
    if (side == Side::src) {
      task.pending.parent = src->parent;
      task.pending.name = src->name;
    }
    make_pending(change, side, task, folder);
    return {};
  });
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

/// Directories that were listed, but some name in them could not be looked at.
Status find_unknown_names(kv::Store& store, Marks& shallow) {
  return each_folder(store, Side::dst, [&](FolderId id, const Folder& folder) {
    if (folder.status != TraversalStatus::successful) return;
    const bool unknown = std::ranges::any_of(folder.tallies, [](const auto& counted) {
      return counted.first.what == Tally::verdict && counted.second != 0 &&
             counted.first.which == static_cast<std::uint8_t>(Verdict::unknown);
    });
    if (!unknown) return;
    shallow.emplace(Side::src, id);
    shallow.emplace(Side::dst, id);
  });
}

/// Directories with names that the copy refused, because they are not what was compared.
Status find_drifted_names(kv::Store& store, Marks& shallow) {
  return store.read([&](kv::Reader& reader) -> Status {
    Status read;
    SLUICE_TRY(reader.scan(keys::chunks_of(Part::copied), {},
                           [&](std::string_view row_key, std::string_view chunk) {
                             const auto drifted = has_drifted_name(chunk);
                             const auto key = keys::parse_chunk(row_key);
                             read = !key ? key.error() : status_of(drifted);
                             if (read.ok() && *drifted) {
                               shallow.emplace(Side::src, key->id);
                               shallow.emplace(Side::dst, key->id);
                             }
                             return read.ok();
                           }));
    return read;
  });
}

/// A directory and what is above it, the nearest first, up to the root, which is not visited: as
/// far as `visit` wants to know.
Status climb(kv::Reader& reader, FolderId id, const std::function<bool(const Folder&)>& visit) {
  while (id != kRoot) {
    SLUICE_LET(folder, read_folder(reader, Side::src, id));
    if (!folder || !visit(*folder)) return {};
    id = folder->parent;
  }
  return {};
}

/// Their counters were moved by what is in there now. Of those that are listed without what is
/// below them, only what is excluded in them counts.
Status check_exclusions(kv::Store& store, const Selection& selection) {
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
      if (selection.itself.contains({Side::dst, key.folder})) return refuse(exclusion.path);
      bool listed = selection.is_whole(key.folder);
      SLUICE_TRY(climb(reader, key.folder, [&](const Folder& folder) {
        listed = listed || selection.is_whole(folder.parent);
        return !listed;
      }));
      if (listed) return refuse(exclusion.path);
    }
    if (excluded.empty()) return {};
    for (const Marks* marks : {&selection.whole, &selection.itself}) {
      for (const auto& mark : *marks) {
        std::optional<std::string> above;
        SLUICE_TRY(climb(reader, mark.second, [&](const Folder& folder) {
          if (excluded.contains({folder.parent, folder.name})) above = folder.name;
          return !above;
        }));
        if (above) return refuse(*above);
      }
    }
    return {};
  });
}

Status begin_sweep(kv::Store& store, Change& change) {
  return store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(state, read_state(reader));
    ++state.sweep;
    change.put(keys::state(), encode(state));
    return {};
  });
}

/// What is below another one is listed again with it.
Result<Marks> not_below(kv::Reader& reader, const Marks& marks, const Marks& others) {
  Marks left;
  for (const auto& [side, id] : marks) {
    bool covered = false;
    SLUICE_TRY(climb(reader, id, [&](const Folder& folder) {
      covered = others.contains({side, folder.parent});
      return !covered;
    }));
    if (!covered) left.emplace(side, id);
  }
  return left;
}

/// A directory's own attributes are in the listing of what it is in. On the destination that one
/// decides about the directory, and is to come first.
Status add_parents(kv::Reader& reader, Selection& selection) {
  for (const auto& [side, id] : selection.whole) {
    SLUICE_TRY(climb(reader, id, [&](const Folder& folder) {
      selection.itself.emplace(side, folder.parent);
      if (side == Side::dst) selection.led.insert(id);
      return false;
    }));
  }
  return {};
}

/// Of directories of the destination below one another only the highest is to be pending. It leads
/// to the others over all that lie between them.
Status add_ways(kv::Reader& reader, Selection& selection) {
  const Marks ends = selection.itself;
  for (const auto& [side, id] : ends) {
    if (side == Side::src) continue;
    std::vector<FolderId> way = {id};
    SLUICE_TRY(climb(reader, id, [&](const Folder& folder) {
      const bool leads = ends.contains({Side::dst, folder.parent});
      if (leads) selection.led.insert(way.begin(), way.end());
      if (!leads) way.push_back(folder.parent);
      return !leads;
    }));
    if (!selection.led.contains(id)) continue;
    for (const FolderId between : way) selection.itself.emplace(Side::dst, between);
  }
  return {};
}

}  // namespace

Result<std::uint64_t> mark_for_retry(kv::Store& store, const RetryWish& wish) {
  Marks marks;
  Marks shallow;  // Without what is below them.
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
    if (wish.failed) {
      SLUICE_TRY(find_failed(store, marks));
      SLUICE_TRY(find_unknown_names(store, shallow));
      SLUICE_TRY(find_drifted_names(store, shallow));
    }
  }
  Selection selection;
  std::uint64_t asked_for = 0;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(pending, is_pending(reader));
    if (pending)
      return {Code::conflict, "the comparison is not finished; run it again first, then retry"};
    SLUICE_LET(whole, not_below(reader, marks, marks));
    SLUICE_LET(itself, not_below(reader, shallow, marks));
    std::erase_if(itself, [&](const auto& mark) { return marks.contains(mark); });
    asked_for = whole.size() + itself.size();
    selection = {.whole = std::move(whole), .itself = std::move(itself), .led = {}};
    SLUICE_TRY(add_parents(reader, selection));
    return add_ways(reader, selection);
  }));
  SLUICE_TRY(check_exclusions(store, selection));
  if (asked_for == 0) return asked_for;
  Change change;
  SLUICE_TRY(begin_sweep(store, change));
  for (const Marks* each : {&selection.whole, &selection.itself}) {
    for (const auto& [side, id] : *each) {
      SLUICE_TRY(mark(store, selection, side, id, change));
      if (change.bytes() >= kChangeBytesMax) SLUICE_TRY(write(store, std::exchange(change, {})));
    }
  }
  SLUICE_TRY(write(store, change));
  return asked_for;
}

}  // namespace sluice::migrate
