// SPDX-License-Identifier: MIT
#include "migrate/folder_attempt.h"

#include <utility>

namespace sluice::migrate {
namespace {

void try_again(const FolderTask& task, const Fault& fault, FolderOutcome& outcome) {
  outcome.again = task;
  outcome.again->pending.attempts = task.pending.attempts + 1;
  outcome.again->pending.error = static_cast<std::uint32_t>(fault.error);
  outcome.failed_attempts = outcome.again->pending.attempts;
  // Kept in the ledger, so that a crash does not start the count anew.
  outcome.change.put(keys::pending(task.side, task.level, task.id), encode(outcome.again->pending));
}

/// What is written ahead of a directory that a kill keeps out of the ledger would stay for ever.
void wait_for_the_ledger(const FolderTask& task, FolderOutcome& outcome) {
  outcome.again = task;
  outcome.again->in_ledger = true;  // By the time when it is run again.
}

}  // namespace

Result<Attempt> attempt_listing(Tree& tree, const FolderTask& task, std::uint32_t attempts_max,
                                Sorter& sorter, FolderOutcome& outcome, Folder& folder) {
  struct Taking {
    Sorter& sorter;
    Status spilled = {};
    bool fits = true;
  } taking{sorter};
  // One reference: a function of more asks for memory.
  const Fault fault = tree.list(task.path, task.seen, sorter.page(), [&taking](Listing&) {
    taking.fits = taking.sorter.may_take_page();
    if (taking.fits) taking.spilled = taking.sorter.take_page();
    return taking.fits && taking.spilled.ok();
  });
  if (!taking.spilled.ok()) return Failure{taking.spilled};
  if (!taking.fits) {
    wait_for_the_ledger(task, outcome);
    return Attempt::again;
  }
  folder.attempts = task.pending.attempts;
  if (fault.ok()) return Attempt::listed;
  folder.attempts = task.pending.attempts + 1;
  folder.error = static_cast<std::uint32_t>(fault.error);
  if (fault_class(fault) == FaultClass::transient && folder.attempts < attempts_max) {
    SLUICE_TRY(sorter.discard());
    try_again(task, fault, outcome);
    return Attempt::again;
  }
  if (fault.error != 0) return Attempt::failed;
  folder.changed = true;
  return Attempt::changed;
}

std::optional<TraversalStatus> counted_as(Side side, const Folder& folder) {
  if (side == Side::dst && folder.presence == Presence::absent) return std::nullopt;
  return folder.status;
}

void make_pending(Change& change, Side side, const FolderTask& child,
                  const std::optional<Folder>& before) {
  if (before) {
    if (const auto status = counted_as(side, *before))
      change.add(tally_of(side, child.level, *status), -1);
  }
  change.add(tally_of(side, child.level, TraversalStatus::pending), 1);
  change.put(keys::pending(side, child.level, child.id), encode(child.pending));
}

namespace {

/// Below a directory of which only its own entries were looked at again: whether the child stays as
/// it is. Its attributes alone call for no new listing of what is below it.
bool stays(const Folder& before, FolderTask& child) {
  if (child.side == Side::src) return true;
  if (before.relist == Relist::whole || before.presence != child.pending.presence) return false;
  child.pending.shallow = true;
  return before.relist == Relist::no && before.set_attributes == child.pending.set_attributes;
}

}  // namespace

Status add_child(kv::Store& store, FolderOutcome& outcome, const FolderTask& parent,
                 FolderTask child, bool known) {
  std::optional<Folder> before;
  if (known) {
    bool pending = false;
    SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(folder, read_folder(reader, child.side, child.id));
      SLUICE_LET(waiting, read_pending(reader, child.side, child.level, child.id));
      before = std::move(folder);
      pending = waiting.has_value();
      return {};
    }));
    if (pending) return {};
    if (before && parent.pending.shallow && stays(*before, child)) return {};
    if (before) child.pending.generation = before->generation + 1;
  }
  make_pending(outcome.change, child.side, child, before);
  outcome.children.push_back(std::move(child));
  return {};
}

void go_on_after(FolderOutcome& outcome, const FolderTask& task, const std::string& expanded) {
  outcome.again = task;
  outcome.again->pending.expanded = expanded;
  outcome.change.put(keys::pending(task.side, task.level, task.id), encode(outcome.again->pending));
}

void finish_folder(FolderOutcome& outcome, const FolderTask& task, const Folder& folder,
                   const std::optional<Folder>& before) {
  Change& change = outcome.change;
  if (before) change.add(before->tallies, -1);
  change.add(folder.tallies, 1);
  change.put(keys::folder(task.side, task.id), encode(folder));
  if (outcome.again) return;  // It stays pending until all its children are.
  change.add(tally_of(task.side, task.level, TraversalStatus::pending), -1);
  if (const auto status = counted_as(task.side, folder))
    change.add(tally_of(task.side, task.level, *status), 1);
  change.erase(keys::pending(task.side, task.level, task.id));
}

}  // namespace sluice::migrate
