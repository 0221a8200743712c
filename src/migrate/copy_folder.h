// SPDX-License-Identifier: MIT
// One directory on both sides, while a piece of planned work is done in it.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "migrate/compare.h"
#include "migrate/copy_ground.h"
#include "migrate/copy_results.h"
#include "migrate/ledger.h"
#include "migrate/removal.h"

namespace sluice::migrate {

/// What came of a unit: to be committed once it is on the disk.
struct CopyUnitOutcome {
  Change change = {};
  /// The counters of this directory's names that move, kept in its destination's record too.
  std::map<FolderId, Tallies> moved = {};
  bool complete = true;       ///< Nothing of it is left to try; otherwise it stays planned.
  std::uint64_t deleted = 0;  ///< Entries.
};

/// As what a name is counted among those to copy; those to remove are not.
struct Counted {
  Tally tally = Tally::copy_files;
  std::uint64_t bytes = 0;
};
inline constexpr Counted kCountedFolder{.tally = Tally::copy_folders};

struct CopyTask {
  CopyGround& ground;
  WorkKey work;
  const std::stop_token& stop;
  std::uint64_t deletes_left = 0;  ///< Of --max-delete.
};

/// Opens both sides, walks over the names as the ledger has them, and collects what was done. One
/// thread, but for show() and what is const.
class CopyFolder {
 public:
  using Pair = std::function<Status(const Entry* src, const Entry* dst)>;

  explicit CopyFolder(const CopyTask& task) : task_(task) {}

  /// What the ledger says of it. Before anything else.
  Status look_up();
  /// What cannot be opened is a fault() of all its names.
  void open();
  /// The names of this unit on both sides, until somebody wants to stop.
  Status each_pair(const Pair& pair);

  /// What becomes of the entry, which is in the folder; as its own kind of failure if it failed.
  Status note(const Entry& entry, const std::optional<Counted>& counted, Done done);
  /// note() in two halves: to whoever looks on, and to the ledger.
  void show(const Done& done) const;
  void record(const Entry& entry, const std::optional<Counted>& counted, Done done);
  /// Something here stays as it is, for another run.
  Status leave();
  /// Removes it from the destination, with all that is in it and is not filtered, as far as
  /// --max-delete goes; all of that is counted.
  Removed remove(const Entry& dst);
  Change& change() { return outcome_.change; }
  CopyUnitOutcome finish();

  CopyGround& ground() const { return task_.ground; }
  const WorkKey& work() const { return task_.work; }
  bool stopped() const { return task_.stop.stop_requested(); }
  std::uint64_t deletes_left() const { return task_.deletes_left; }
  const Folder& src() const { return src_; }
  int src_dir() const { return src_dir_.get(); }
  int dst_dir() const { return dst_dir_.get(); }
  std::uint32_t fault() const { return fault_; }  ///< Why nothing can be done here, or 0.
  /// Both sides could be listed: what is not in the ledger was not there.
  bool is_certain() const;
  bool is_done(const Entry& entry) const { return results_.has(entry.name); }
  bool is_left_out(const Entry& entry) const;
  Verdict verdict(const Entry* src, const Entry* dst) const;
  /// On the destination.
  bool is_folder_now(std::string_view name) const;

 private:
  RemoveRules remove_rules(std::string_view name) const;
  void move(Tally tally, CopyStatus from, CopyStatus to, std::uint64_t amount);

  CopyTask task_;
  CopyUnitOutcome outcome_;
  Folder src_;
  Folder dst_;
  std::string path_;
  Descriptor src_dir_;
  Descriptor dst_dir_;
  std::uint32_t fault_ = 0;
  bool touched_ = false;  // Something in the folder is another now, and so is its time.
  CopyResults results_;
};

}  // namespace sluice::migrate
