// SPDX-License-Identifier: MIT
// What list() and compare() share: an attempt to list, and what follows from its fault.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "migrate/folder_task.h"
#include "migrate/stream.h"

namespace sluice::migrate {

enum class Attempt : std::uint8_t {
  listed,
  changed,  ///< Listed, but it changed meanwhile, each time.
  failed,   ///< For good.
  again,    ///< The outcome says when.
};

/// Lists into `sorter`. `outcome` is complete if it is to be tried `again`.
Result<Attempt> attempt_listing(Tree& tree, const FolderTask& task, std::uint32_t attempts_max,
                                Sorter& sorter, FolderOutcome& outcome, Folder& folder);

/// The directory leaves pending: counters, entry, record.
void finish_folder(FolderOutcome& outcome, const FolderTask& task, const Folder& folder,
                   const std::optional<Folder>& before);

/// Makes a child of `parent` pending, unless it is, or is to stay as it was listed before.
/// `known`: it may have been.
Status add_child(kv::Store& store, FolderOutcome& outcome, const FolderTask& parent,
                 FolderTask child, bool known);
/// The directory stays pending until the children after `expanded` are, too.
void go_on_after(FolderOutcome& outcome, const FolderTask& task, const std::string& expanded);

inline TallyKey tally_of(Side side, std::uint32_t level, TraversalStatus status) {
  return {.what = side == Side::src ? Tally::src : Tally::dst,
          .level = level,
          .which = static_cast<std::uint8_t>(status)};
}

/// Takes the names in order until there are kChildrenMax of them.
class ChildCollector {
 public:
  /// The children after this name are wanted.
  ChildCollector(FolderOutcome& outcome, std::optional<std::string> after)
      : outcome_(outcome), after_(std::move(after)) {}

  /// Whether this one is to be made pending now.
  bool wants(std::string_view name) {
    if (after_ && name <= *after_) return false;
    if (full_) return false;
    if (outcome_.children.size() == kChildrenMax) {
      full_ = true;
      return false;
    }
    last_ = name;
    return true;
  }
  /// If there are more: the name up to which they are pending.
  std::optional<std::string> expanded() const {
    return full_ ? std::optional<std::string>(last_) : std::nullopt;
  }

 private:
  FolderOutcome& outcome_;
  std::optional<std::string> after_;
  std::string last_;
  bool full_ = false;
};

}  // namespace sluice::migrate
