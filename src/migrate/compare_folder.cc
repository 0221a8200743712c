// SPDX-License-Identifier: MIT
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "migrate/folder_attempt.h"
#include "migrate/plan.h"

namespace sluice::migrate {
namespace {

/// One directory of the destination, held against the source's, on its way into the ledger.
class FolderComparison {
 public:
  FolderComparison(const FolderTasks::Context& context, const FolderTask& task,
                   FolderOutcome& outcome, Folder& folder)
      : context_(context),
        task_(task),
        outcome_(outcome),
        folder_(folder),
        builder_(context.store, {.part = Part::dst,
                                 .id = task.id,
                                 .generation = folder.generation,
                                 .in_ledger = task.in_ledger,
                                 .leftovers = task.leftovers}),
        children_(outcome, task.pending.expanded) {}

  /// Whether the destination's entries are known: listed, or known to be none.
  void set_known(bool known) { known_ = known; }

  /// `chunk`: of the source's block, that `src` is in.
  Status take(const Entry* src, const Entry* dst, std::uint32_t chunk) {
    if (expanding()) return make_child_pending(src, dst, verdict_on(src, dst));
    if (dst == nullptr || src == nullptr || !context_.settings.rules.checksum)
      return take_listed(src, dst, chunk);
    Entry hashed = *dst;
    hash(*src, hashed);
    return take_listed(src, &hashed, chunk);
  }

  Status finish() {
    if (!expanding()) {
      SLUICE_LET(built, builder_.finish(outcome_.change));
      folder_.chunks = built.chunks;
      folder_.entries = built.entries;
      folder_.tallies = counts_.at_level(task_.level + 1);
      if (folder_.set_attributes)
        work_.insert({.pass = Pass::attributes, .level = task_.level, .id = task_.id});
      for (const WorkKey& work : work_) outcome_.change.put(keys::work(work), "");
    }
    if (const auto expanded = children_.expanded()) go_on_after(outcome_, task_, *expanded);
    return {};
  }

 private:
  bool expanding() const { return task_.pending.expanded.has_value(); }

  Status take_listed(const Entry* src, const Entry* dst, std::uint32_t chunk) {
    if (dst != nullptr) {
      ++outcome_.entries;
      SLUICE_TRY(builder_.add(*dst));
    }
    const Verdict verdict = verdict_on(src, dst);
    count(counts_, {.src = src, .dst = dst, .verdict = verdict, .copy = copy_status(verdict)});
    if (verdict == Verdict::same && src->inode != 0)
      outcome_.change.put(keys::link(src->device, src->inode),
                          encode(LinkPlace{.folder = task_.id, .name = std::string(src->name)}));
    plan(work_, {.level = task_.level, .id = task_.id, .chunk = chunk}, src, verdict);
    return make_child_pending(src, dst, verdict);
  }

  Verdict verdict_on(const Entry* src, const Entry* dst) const {
    if (!known_) return Verdict::unknown;
    return sluice::migrate::compare(src, dst, context_.settings.rules).verdict;
  }

  Status make_child_pending(const Entry* src, const Entry* dst, Verdict verdict) {
    if (src == nullptr || src->id == 0 || !children_.wants(src->name)) return {};
    FolderTask child{.side = Side::dst,
                     .level = task_.level + 1,
                     .id = src->id,
                     .path = join_path(task_.path, src->name),
                     .pending = {.presence = known_ ? presence_on_dst(dst) : Presence::unknown,
                                 // Its own comparison plans it, with what is done in it: the two
                                 // may be made anew without each other.
                                 .set_attributes = copy_status(verdict) == CopyStatus::pending},
                     .seen = dst != nullptr ? stamp_of(*dst) : FolderStamp()};
    return add_child(context_.store, outcome_, task_, std::move(child), folder_.generation > 1);
  }

  /// Only where the hash decides.
  void hash(const Entry& src, Entry& dst) {
    if (src.kind != Kind::file || dst.kind != Kind::file || src.size != dst.size) return;
    if (!src.hash || dst.error != 0 || dst.excluded) return;
    Hash hash{};
    const Fault fault = context_.dst.hash(task_.path, dst, hash);
    if (fault.ok())
      dst.hash = hash;
    else
      dst.error = static_cast<std::uint32_t>(fault.error != 0 ? fault.error : EAGAIN);
  }

  const FolderTasks::Context& context_;
  const FolderTask& task_;
  FolderOutcome& outcome_;
  Folder& folder_;
  BlockBuilder builder_;
  ChildCollector children_;
  NameCounts counts_;
  std::set<WorkKey> work_;
  bool known_ = true;
};

struct Known {
  std::optional<FolderBlock> src;
  std::optional<Folder> dst;
  std::string first_chunk;  // Of the source's block.
};

Result<Known> look_up(const FolderTasks::Context& context, const FolderTask& task) {
  Known known;
  const bool is_new = task.pending.generation == 1 && !task.pending.expanded;
  if (auto fresh = context.fresh.take(task.id); fresh && is_new) {
    known.src = fresh->block;
    known.first_chunk = std::move(fresh->chunk);
    return known;
  }
  SLUICE_TRY(context.store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(src, read_folder_block(reader, Side::src, task.id));
    known.src = src;
    if (!is_new) {
      SLUICE_LET(dst, read_folder(reader, Side::dst, task.id));
      known.dst = std::move(dst);
    }
    if (!known.src || known.src->chunks == 0) return {};
    SLUICE_LET(chunk, reader.get(keys::chunk(Part::src, task.id, known.src->generation, 0)));
    known.first_chunk = chunk.value_or("");
    return {};
  }));
  if (!known.src)
    return error(Code::corrupt, "a directory is to be compared that was never listed");
  return known;
}

/// What is left of an earlier comparison.
void forget(Change& change, const FolderTask& task, const Folder& before) {
  change.erase_range(keys::chunks_of(Part::dst, task.id, before.generation));
  change.erase_range(keys::chunks_of(Part::copied, task.id));
  for (std::uint8_t pass = 0; pass < kPasses; ++pass)
    change.erase_range(keys::work_of(static_cast<Pass>(pass), task.level, task.id));
}

}  // namespace

Result<FolderOutcome> FolderTasks::compare(const FolderTask& task) {
  FolderOutcome outcome;
  SLUICE_LET(known, look_up(context_, task));
  Folder folder{.level = task.level,
                .status = TraversalStatus::successful,
                .presence = task.pending.presence,
                .generation = task.pending.generation,
                .set_attributes = task.pending.set_attributes};
  if (task.pending.expanded && known.dst) folder = *known.dst;
  bool is_known = folder.presence != Presence::unknown;
  Sorter sorter(context_.store, {.side = Side::dst,
                                 .id = task.id,
                                 .bytes_max = context_.listing_bytes_max,
                                 .in_ledger = task.in_ledger,
                                 .leftovers = task.leftovers});
  NoEntries none;
  std::optional<BlockStream> stored;
  EntryStream* dst = &none;
  if (task.pending.expanded) {
    is_known = folder.status == TraversalStatus::successful || folder.changed;
    dst = &stored.emplace(context_.store, BlockStream::Block{.part = Part::dst,
                                                             .id = task.id,
                                                             .generation = folder.generation,
                                                             .chunks = folder.chunks});
  } else if (known.src->status == TraversalStatus::failed) {
    is_known = false;  // Nothing to compare with: it is not even opened.
    folder.status = TraversalStatus::unknown;
  } else if (folder.presence == Presence::present) {
    SLUICE_LET(attempt,
               attempt_listing(context_.dst, task, context_.attempts_max, sorter, outcome, folder));
    if (attempt == Attempt::again) return outcome;
    is_known = attempt != Attempt::failed;
    if (attempt == Attempt::failed) sorter.restart();
    if (attempt != Attempt::listed)
      folder.status = is_known ? TraversalStatus::unknown : TraversalStatus::failed;
    dst = &sorter.finish();
  } else if (!is_known) {
    folder.status = TraversalStatus::unknown;
  }

  FolderComparison comparison(context_, task, outcome, folder);
  comparison.set_known(is_known);
  BlockStream src(context_.store,
                  {.part = Part::src,
                   .id = task.id,
                   .generation = known.src->generation,
                   .chunks = known.src->chunks},
                  std::move(known.first_chunk));
  SLUICE_TRY(join(src, *dst, [&](const Entry* s, const Entry* d) {
    return comparison.take(s, d, src.chunk());
  }));
  // Before what is planned anew.
  if (known.dst && !task.pending.expanded) forget(outcome.change, task, *known.dst);
  SLUICE_TRY(comparison.finish());
  sorter.clean(outcome.change);
  finish_folder(outcome, task, folder, known.dst);
  return outcome;
}

}  // namespace sluice::migrate
