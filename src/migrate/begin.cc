// SPDX-License-Identifier: MIT
#include "migrate/begin.h"

#include <algorithm>
#include <cerrno>
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
    if (change.bytes() < kChangeBytesMax) continue;
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

}  // namespace sluice::migrate
