// SPDX-License-Identifier: MIT
// What a migration knows, in a Sluice store: which directories were listed on each side, what was
// in them, what is still to be done. docs/format/migrate.md has the keys and records.
//
// Directories are the tasks. Each directory of the source has a number, its *id*; its counterpart
// on the destination has the same one, so that the two are joined by definition. Files live in
// their directory's *block*: sorted entries in chunks, under a generation. A directory moves from
// pending to listed in one transaction with its block, its children's pending entries and its
// counters.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/tuple.h"
#include "migrate/compare.h"
#include "migrate/entry.h"
#include "migrate/tallies.h"

namespace sluice::migrate {

using FolderId = std::uint64_t;
/// A directory above the root, whose block has one entry, ".": the root itself.
inline constexpr FolderId kAboveRoot = 0;
inline constexpr FolderId kRoot = 1;

/// Of a directory or another entry, on one side. Stored.
enum class TraversalStatus : std::uint8_t {
  pending = 0,
  successful = 1,
  failed = 2,
  not_on_src = 3,
  excluded = 4,
  unknown = 5,  ///< A directory above it could not be read, or changed while it was.
};
inline constexpr std::size_t kTraversalStatuses = 6;
std::string_view status_name(TraversalStatus status);

/// What the listing of a directory's parent said of it on the destination. Stored.
enum class Presence : std::uint8_t { present = 0, absent = 1, unknown = 2 };

/// Whether a directory of the destination is to be compared again, once its parent has looked
/// whether it is there: with all that is below it, or without. Stored.
enum class Relist : std::uint8_t { no = 0, whole = 1, itself = 2 };

/// Whose block: one side's listing, or what the copy did to the destination since. Stored.
enum class Part : std::uint8_t { src = 0, dst = 1, copied = 2, runs = 3 };
inline Part part_of(Side side) {
  return side == Side::src ? Part::src : Part::dst;
}

/// What is to be done to the destination, in this order. Stored.
enum class Pass : std::uint8_t { folders = 0, files = 1, links = 2, deletes = 3, attributes = 4 };
inline constexpr std::size_t kPasses = 5;

/// Of Tally::drift.
enum class Drift : std::uint8_t { appeared = 0, vanished = 1, changed = 2 };
/// `in-progress` is a matter of a running process and never stored.
enum class CopyStatus : std::uint8_t {
  pending = 0,
  successful = 1,
  skipped = 2,
  failed = 3,
  in_progress = 4,
};
inline constexpr std::size_t kCopyStatuses = 5;
std::string_view status_name(CopyStatus status);

/// A directory that was listed, or could not be.
struct Folder {
  FolderId parent = 0;
  std::string name = {};  ///< Of the source's; the destination's is the same and not stored.
  std::uint32_t level = 0;
  TraversalStatus status = TraversalStatus::pending;
  Presence presence = Presence::present;  ///< Of the destination's.
  std::uint32_t generation = 0;           ///< Of its block; 0: it has none.
  std::uint32_t chunks = 0;
  std::uint64_t entries = 0;
  std::uint32_t attempts = 0;   ///< That failed.
  std::uint32_t error = 0;      ///< errno of the last of them.
  bool changed = false;         ///< While it was being read, each time.
  bool set_attributes = false;  ///< Of the destination's: the verdict on itself asks for it.
  Relist relist = Relist::no;   ///< Of the destination's.
  /// What it contributed to the counters, besides its own status: taken back when it is listed
  /// again.
  Tallies tallies = {};
};

/// Where a directory of the source is.
struct FolderPlace {
  FolderId parent = 0;
  std::string name = {};
};

/// How far a directory was listed, and where what was found is.
struct FolderBlock {
  TraversalStatus status = TraversalStatus::pending;
  std::uint32_t generation = 0;
  std::uint32_t chunks = 0;
};

/// A directory that is to be listed (again).
struct PendingFolder {
  FolderId parent = 0;    ///< Of the source's.
  std::string name = {};  ///< Of the source's.
  Presence presence = Presence::present;
  std::uint32_t generation = 1;  ///< That its next block will have.
  std::uint32_t attempts = 0;
  std::uint32_t error = 0;
  bool set_attributes = false;  ///< Of the destination's.
  /// What was listed before below it stays as it is: only its own entries are looked at again.
  bool shallow = false;
  /// Its block stands, its children up to this name (included) are pending; the rest is to come.
  std::optional<std::string> expanded = {};
};

/// Where on the destination a file of the source with several names is already.
struct LinkPlace {
  FolderId folder = 0;
  std::string name = {};
};
std::string encode(const LinkPlace& place);
Result<LinkPlace> decode_link(std::string_view bytes);

/// Something to do to one directory (or one chunk of it) on the destination.
struct WorkKey {
  Pass pass = Pass::folders;
  std::uint32_t level = 0;
  FolderId id = 0;
  std::uint32_t chunk = 0;  ///< Of the source's block.
  friend auto operator<=>(const WorkKey&, const WorkKey&) = default;
};

// ------------------------------------------------------------------------------------------- keys

namespace keys {
codec::NumberTuple settings();
codec::NumberTuple state();
codec::NumberTuple folder(Side side, FolderId id);
codec::NumberTuple pending(Side side, std::uint32_t level, FolderId id);
kv::Range pending_of(Side side);
codec::NumberTuple tally(const TallyKey& key);
kv::Range tallies();
codec::NumberTuple chunk(Part part, FolderId id, std::uint32_t generation, std::uint64_t number);
kv::Range chunks_of(Part part, FolderId id, std::uint32_t generation);
kv::Range chunks_of(Part part, FolderId id);
kv::Range chunks_of(Part part);
kv::Range folders_of(Side side);
codec::NumberTuple work(const WorkKey& key);
kv::Range work_of(Pass pass);
kv::Range work_of(Pass pass, std::uint32_t level, FolderId id);
std::string exclusion(FolderId folder, std::string_view name);
kv::Range exclusions();
/// Of a file of the source with several names.
codec::NumberTuple link(std::uint64_t device, std::uint64_t inode);
kv::Range links();
codec::NumberTuple drop(FolderId id);
kv::Range drops();

struct PendingKey {
  std::uint32_t level = 0;
  FolderId id = 0;
};
Result<FolderId> parse_folder(std::string_view key);
Result<PendingKey> parse_pending(std::string_view key);
Result<TallyKey> parse_tally(std::string_view key);
Result<WorkKey> parse_work(std::string_view key);
Result<FolderId> parse_drop(std::string_view key);
struct ChunkKey {
  FolderId id = 0;
  std::uint32_t generation = 0;
  std::uint32_t number = 0;
};
Result<ChunkKey> parse_chunk(std::string_view key);
struct ExclusionKey {
  FolderId folder = 0;
  std::string name;
};
Result<ExclusionKey> parse_exclusion(std::string_view key);
}  // namespace keys

// ---------------------------------------------------------------------------------------- records

std::string encode(const Folder& folder);
Result<Folder> decode_folder(std::string_view bytes);
Result<FolderPlace> decode_folder_place(std::string_view bytes);  ///< Of the same record.
Result<FolderBlock> decode_folder_block(std::string_view bytes);
std::string encode(const PendingFolder& pending);
Result<PendingFolder> decode_pending(std::string_view bytes);

/// Everything that the outcome of a run depends on. A ledger has one, for good.
struct Settings {
  std::string src = {};
  std::string dst = {};
  CompareRules rules = {};
  std::vector<std::string> filters = {};
  bool one_file_system = false;
};
std::string encode(const Settings& settings);
Result<Settings> decode_settings(std::string_view bytes);
/// What is different, as sentences: "--checksum: off in the ledger, on now".
std::vector<std::string> differences(const Settings& kept, const Settings& wanted);

/// A subtree that a person took out of the plan.
struct Exclusion {
  std::string path = {};
  Tallies moved = {};  ///< What the counters were moved by.
  /// Counters that there were none of before the first exclusion: to be gone after the last, not 0.
  std::set<TallyKey> made = {};
};
std::string encode(const Exclusion& exclusion);
Result<Exclusion> decode_exclusion(std::string_view bytes);

/// Where the migration as a whole stands.
struct State {
  FolderId next_id = kRoot + 1;
  std::uint32_t sweep = 0;    ///< How often listing was begun: 1, and one more per retry.
  std::uint64_t deleted = 0;  ///< Entries that copy has removed, for --max-delete.
  bool copy_begun = false;    ///< And not come to its end: temporary files may lie about.
  bool copied = false;        ///< A copy was begun at some time: steps may be done and gone.
  std::uint64_t drifted = 0;  ///< All that Tally::drift counts: no recount can tell it.
};
std::string encode(const State& state);
Result<State> decode_state(std::string_view bytes);

// ---------------------------------------------------------------------------------------- changes

/// Writes that commit together, with the counters they move. Encoded by the thread that found them,
/// applied by whoever commits. A value type; one thread at a time.
class Change {
 public:
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  void erase_range(const kv::Range& range);
  void add(const TallyKey& key, std::int64_t delta) {
    if (delta != 0) tallies_[key] += delta;
  }
  void add(const Tallies& tallies, std::int64_t sign) { tallies_.add(tallies, sign); }
  /// What it will count as in a transaction, about.
  std::size_t bytes() const { return text_.size() * 2 + tallies_.size() * 48; }
  bool empty() const { return text_.empty() && tallies_.empty(); }
  void clear() {  ///< Keeps its memory.
    text_.clear();
    tallies_.clear();
  }

  /// Adds all of this one to `all`, after what is there, and leaves this one empty.
  void move_to(Change& all);
  void apply(kv::Transaction& txn) const;
  const Tallies& tallies() const { return tallies_; }

 private:
  void append(char what, std::string_view first, std::string_view second);

  std::string text_;
  Tallies tallies_;
};

/// A change that grows larger is better written in pieces: half of what a transaction may hold.
inline constexpr std::size_t kChangeBytesMax = kv::kTransactionBytesMax / 2;
/// In a transaction of its own.
Status write(kv::Store& store, const Change& change);

// ---------------------------------------------------------------------------------------- reading

Result<std::optional<Folder>> read_folder(kv::Reader& reader, Side side, FolderId id);
/// A part of it, at a fraction of the cost.
Result<std::optional<FolderPlace>> read_folder_place(kv::Reader& reader, FolderId id);
Result<std::optional<FolderBlock>> read_folder_block(kv::Reader& reader, Side side, FolderId id);
/// Every directory of a side that has a record, in the order of ids; pages of its own transactions.
Status each_folder(kv::Store& store, Side side,
                   const std::function<void(FolderId id, const Folder& folder)>& visit);
Result<std::optional<PendingFolder>> read_pending(kv::Reader& reader, Side side,
                                                  std::uint32_t level, FolderId id);
Result<std::optional<Settings>> read_settings(kv::Reader& reader);
Result<State> read_state(kv::Reader& reader);
/// Whether a directory of either side is.
Result<bool> is_pending(kv::Reader& reader);
/// All that are not zero.
Result<Tallies> read_tallies(kv::Reader& reader);
/// The path of a directory of the source, "" for the root. `corrupt` if its parents are not there.
Result<std::string> read_path(kv::Reader& reader, FolderId parent, std::string_view name);
std::string join_path(std::string_view folder, std::string_view name);

}  // namespace sluice::migrate
