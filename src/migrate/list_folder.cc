// SPDX-License-Identifier: MIT
#include <cerrno>
#include <memory>
#include <utility>

#include "migrate/folder_attempt.h"
#include "migrate/plan.h"

namespace sluice::migrate {
namespace {

FolderTask child_of(const FolderTask& task, const Entry& entry) {
  return {.side = Side::src,
          .level = task.level + 1,
          .id = entry.id,
          .path = join_path(task.path, entry.name),
          .pending = {.parent = task.id, .name = std::string(entry.name)},
          .seen = stamp_of(entry)};
}

/// The listing of one directory of the source on its way into the ledger.
class SourceListing {
 public:
  SourceListing(const FolderTasks::Context& context, const FolderTask& task, FolderOutcome& outcome,
                Folder& folder)
      : context_(context),
        task_(task),
        outcome_(outcome),
        folder_(folder),
        builder_(context.store, {.part = Part::src,
                                 .id = task.id,
                                 .generation = folder.generation,
                                 .in_ledger = task.in_ledger,
                                 .leftovers = task.leftovers}),
        children_(outcome, std::nullopt) {}

  /// An entry as it was and as it is, either may be null.
  Status take(const Entry* before, const Entry* now) {
    if (now == nullptr) return drop(*before);
    if (before == nullptr && refreshed_) count_drift(Drift::appeared);
    ++outcome_.entries;
    if (is_task(*now)) return take_folder(before, *now);
    if (!context_.settings.rules.checksum) return take_other(before, *now);
    Entry hashed = *now;
    hash(hashed);
    return take_other(before, hashed);
  }

  Status finish() {
    SLUICE_LET(built, builder_.finish(outcome_.change));
    folder_.chunks = built.chunks;
    folder_.entries = built.entries;
    folder_.tallies = counts_.at_level(task_.level + 1);
    if (const auto expanded = children_.expanded()) go_on_after(outcome_, task_, *expanded);
    const bool small = built.chunks == 0 || !built.only_chunk.empty();
    if (small && !outcome_.again)
      context_.fresh.put(task_.id, {.block = {.status = folder_.status,
                                              .generation = folder_.generation,
                                              .chunks = folder_.chunks},
                                    .chunk = std::move(built.only_chunk)});
    return {};
  }

  /// There is a listing from before, and what differs from it is drift.
  void set_refreshed() { refreshed_ = true; }

 private:
  Status take_folder(const Entry* before, Entry entry) {
    const bool known = before != nullptr && before->id != 0;
    entry.id = known ? before->id : context_.next_id.fetch_add(1);
    SLUICE_TRY(make_child_pending(entry, known));
    if (before != nullptr && !known) count_drift(Drift::changed);
    return builder_.add(entry);
  }

  Status take_other(const Entry* before, const Entry& entry) {
    if (before != nullptr && before->id != 0) SLUICE_TRY(drop(*before));
    if (before != nullptr && before->id == 0 && !looks_the_same(*before, entry))
      count_drift(Drift::changed);
    counts_.add(Tally::src, status_on_src(entry), 1);
    return builder_.add(entry);
  }

  Status make_child_pending(const Entry& entry, bool known) {
    if (!children_.wants(entry.name)) return {};
    return add_child(context_.store, outcome_, task_, child_of(task_, entry), known);
  }

  void hash(Entry& entry) {
    if (entry.kind != Kind::file || entry.error != 0 || entry.excluded) return;
    Hash hash{};
    const Fault fault = context_.src.hash(task_.path, entry, hash);
    if (fault.ok())
      entry.hash = hash;
    else
      entry.error = static_cast<std::uint32_t>(fault.error != 0 ? fault.error : EAGAIN);
  }

  Status drop(const Entry& gone) {
    // Of a listing that failed nobody knows what is gone.
    if (folder_.status != TraversalStatus::failed) count_drift(Drift::vanished);
    if (gone.id != 0) outcome_.change.put(keys::drop(gone.id), "");
    return {};
  }

  static bool looks_the_same(const Entry& before, const Entry& now) {
    return before.kind == now.kind && before.size == now.size && before.mtime_ns == now.mtime_ns &&
           before.mode == now.mode && before.uid == now.uid && before.gid == now.gid &&
           before.target == now.target;
  }

  void count_drift(Drift drift) {
    outcome_.change.add(
        {.what = Tally::drift, .level = task_.level + 1, .which = static_cast<std::uint8_t>(drift)},
        1);
  }

  const FolderTasks::Context& context_;
  const FolderTask& task_;
  FolderOutcome& outcome_;
  Folder& folder_;
  BlockBuilder builder_;
  ChildCollector children_;
  NameCounts counts_;
  bool refreshed_ = false;
};

/// The rest of the children of a directory whose block stands.
Result<FolderOutcome> expand(const FolderTasks::Context& context, const FolderTask& task) {
  FolderOutcome outcome;
  std::optional<Folder> folder;
  SLUICE_TRY(context.store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, read_folder(reader, Side::src, task.id));
    folder = std::move(found);
    return {};
  }));
  if (!folder) return error(Code::corrupt, "a directory of the ledger lost its record");
  ChildCollector children(outcome, task.pending.expanded);
  BlockStream block(context.store, {.part = Part::src,
                                    .id = task.id,
                                    .generation = folder->generation,
                                    .chunks = folder->chunks});
  for (;;) {
    SLUICE_LET(entry, block.next());
    if (entry == nullptr) break;
    if (!is_task(*entry) || !children.wants(entry->name)) continue;
    SLUICE_TRY(
        add_child(context.store, outcome, task, child_of(task, *entry), folder->generation > 1));
  }
  if (const auto expanded = children.expanded()) {
    go_on_after(outcome, task, *expanded);
    return outcome;
  }
  outcome.change.add(tally_of(Side::src, task.level, TraversalStatus::pending), -1);
  outcome.change.add(tally_of(Side::src, task.level, folder->status), 1);
  outcome.change.erase(keys::pending(Side::src, task.level, task.id));
  return outcome;
}

}  // namespace

Result<FolderOutcome> FolderTasks::list(const FolderTask& task) {
  if (task.pending.expanded) return expand(context_, task);
  FolderOutcome outcome;
  std::optional<Folder> before;
  if (task.pending.generation > 1) {
    SLUICE_TRY(context_.store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(found, read_folder(reader, Side::src, task.id));
      before = std::move(found);
      return {};
    }));
  }
  Folder folder{.parent = task.pending.parent,
                .name = task.pending.name,
                .level = task.level,
                .status = TraversalStatus::successful,
                .generation = task.pending.generation};
  Sorter sorter(context_.store, {.side = Side::src,
                                 .id = task.id,
                                 .bytes_max = context_.listing_bytes_max,
                                 .in_ledger = task.in_ledger,
                                 .leftovers = task.leftovers});
  SLUICE_LET(attempt,
             attempt_listing(context_.src, task, context_.attempts_max, sorter, outcome, folder));
  if (attempt == Attempt::again) return outcome;
  if (attempt == Attempt::failed) {
    folder.status = TraversalStatus::failed;
    sorter.restart();
  }
  if (attempt == Attempt::changed) folder.status = TraversalStatus::unknown;

  SourceListing listing(context_, task, outcome, folder);
  if (before && before->status != TraversalStatus::failed) listing.set_refreshed();
  if (before && before->chunks != 0)
    outcome.change.erase_range(keys::chunks_of(Part::src, task.id, before->generation));
  BlockStream was(context_.store, {.part = Part::src,
                                   .id = task.id,
                                   .generation = before ? before->generation : 0,
                                   .chunks = before ? before->chunks : 0});
  SLUICE_TRY(join(was, sorter.finish(),
                  [&](const Entry* old, const Entry* fresh) { return listing.take(old, fresh); }));
  SLUICE_TRY(listing.finish());
  sorter.clean(outcome.change);
  finish_folder(outcome, task, folder, before);
  return outcome;
}

}  // namespace sluice::migrate
