// SPDX-License-Identifier: MIT
#include "migrate/copy_unit.h"

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "migrate/copy_file.h"
#include "migrate/copy_files.h"
#include "migrate/removal.h"
#include "migrate/stat_entry.h"
#include "migrate/stream.h"
#include "migrate/walk.h"

namespace sluice::migrate {
namespace {

Status make_missing(CopyFolder& at, const Entry* src, const Entry* dst) {
  if (src == nullptr || src->kind != Kind::folder || at.is_done(*src)) return {};
  const Verdict verdict = at.verdict(src, dst);
  if (verdict != Verdict::missing && verdict != Verdict::clash) return {};
  if (at.is_left_out(*src)) return at.leave();
  if (at.fault() != 0) return at.note(*src, kCountedFolder, failed(at.fault()));
  // A run that was killed may have made it, and not have said so.
  if (verdict == Verdict::clash && !at.is_folder_now(src->name)) {
    const Removed removed = remove_entry(at.dst_dir(), *dst);
    if (removed.fault && removed.fault->why != CopyFault::Why::in_the_way)
      return at.note(*src, kCountedFolder, failed(reason_of(*removed.fault)));
  }
  const auto made = make_folder(at.dst_dir(), src->name);
  return at.note(*src, kCountedFolder,
                 made ? Done{.entry = {.kind = Kind::folder}} : failed(reason_of(made.error())));
}

Status remove_extra(CopyFolder& at, const Entry* src, const Entry* dst) {
  if (src != nullptr || at.is_done(*dst)) return {};
  if (at.verdict(nullptr, dst) != Verdict::extra) return {};
  // What could not be listed may be there: nothing is removed on a guess.
  if (!at.is_certain() || at.is_left_out(*dst)) return at.leave();
  const auto fail = [&](std::uint32_t why) { return at.note(*dst, std::nullopt, failed(why)); };
  if (at.fault() != 0) return fail(at.fault());
  if (const auto now = look_at(at.src_dir(), dst->name); now || now.error() != ENOENT)
    return fail(kDriftedSrc);
  if (at.deletes_left() == 0) return fail(kDeleteLimit);
  const Removed removed = at.remove(*dst);
  if (!removed.done()) return fail(removed.fault ? reason_of(*removed.fault) : kDeleteLimit);
  return at.note(*dst, std::nullopt, {.outcome = CopyOutcome::deleted, .entry = {}});
}

struct Blocks {
  BlockStream::Block src;
  BlockStream::Block dst;
};

Result<Blocks> parent_blocks(const CopyFolder& at) {
  Blocks blocks;
  const FolderId parent = at.src().parent;
  SLUICE_TRY(at.ground().store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(src, read_folder(reader, Side::src, parent));
    SLUICE_LET(dst, read_folder(reader, Side::dst, parent));
    if (!src || !dst) return {Code::corrupt, "a directory of the ledger has no parent"};
    blocks.src = {
        .part = Part::src, .id = parent, .generation = src->generation, .chunks = src->chunks};
    blocks.dst = {
        .part = Part::dst, .id = parent, .generation = dst->generation, .chunks = dst->chunks};
    return {};
  }));
  return blocks;
}

/// Of the folder itself: the last that is done to it.
Status set_own_attributes(CopyFolder& at) {
  SLUICE_LET(above, parent_blocks(at));
  const bool is_root = at.work().id == kRoot;
  const std::string_view name = is_root ? "." : std::string_view(at.src().name);
  SLUICE_LET(src, find_entry(at.ground().store, above.src, name));
  SLUICE_LET(dst, find_entry(at.ground().store, above.dst, name));
  if (src.entry == nullptr)
    return error(Code::corrupt, "a directory of the ledger is not in its parent's block");
  Entry wanted = *src.entry;
  wanted.name = {};
  Done done = failed(at.fault());
  if (at.fault() == 0) {
    const auto set = set_attributes({.src = at.src_dir(), .dst = at.dst_dir(), .wanted = wanted},
                                    at.ground().options.rules);
    done = set ? Done{.entry = set->entry} : failed(reason_of(set.error()));
  }
  if (done.outcome == CopyOutcome::failed) SLUICE_TRY(at.leave());
  // Only if that was all there was to do to it: otherwise its making was counted, but for that of
  // the root, which is in no folder.
  const Verdict verdict = at.verdict(src.entry, dst.entry);
  const bool made_root = is_root && verdict == Verdict::missing;
  if (verdict != Verdict::attributes && !made_root) return {};
  return at.note(*src.entry, kCountedFolder, done);
}

Status run_in(CopyFolder& at) {
  switch (at.work().pass) {
    case Pass::folders:
      return at.each_pair([&](auto s, auto d) { return make_missing(at, s, d); });
    case Pass::files:
    case Pass::links:
      return CopyFiles(at).run();
    case Pass::deletes:
      return at.each_pair([&](auto s, auto d) { return remove_extra(at, s, d); });
    case Pass::attributes:
      return set_own_attributes(at);
  }
  return {};
}

}  // namespace

Result<CopyUnitOutcome> run_unit(const CopyTask& task) {
  CopyFolder at(task);
  SLUICE_TRY(at.look_up());
  SLUICE_LET(excluded, task.ground.is_excluded(task.work.id));
  if (excluded) return CopyUnitOutcome{.complete = false};
  at.open();
  SLUICE_TRY(run_in(at));
  return at.finish();
}

}  // namespace sluice::migrate
