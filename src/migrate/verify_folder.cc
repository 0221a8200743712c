// SPDX-License-Identifier: MIT
#include <memory>
#include <optional>
#include <utility>

#include "migrate/block.h"
#include "migrate/folder_task.h"
#include "migrate/plan.h"
#include "migrate/stream.h"
#include "migrate/verify_scan.h"
#include "migrate/walk.h"

namespace sluice::migrate {
namespace {

std::string_view side_text(Part part) {
  return part == Part::src ? " of the source" : " of the destination";
}

/// A block within the one snapshot, its names held against each other over all chunks.
class CheckedBlock final : public EntryStream {
 public:
  CheckedBlock(VerifyScan& scan, Part part, FolderId id, const std::optional<Folder>& folder)
      : scan_(scan), part_(part), id_(id) {
    if (!folder) return;
    generation_ = folder->generation;
    chunks_ = folder->chunks;
  }

  Result<const Entry*> next() override {
    for (;;) {
      if (reader_) {
        SLUICE_LET(entry, reader_->next());
        if (entry != nullptr) return count(entry);
        reader_.reset();
      }
      if (next_chunk_ == chunks_) return nullptr;
      SLUICE_TRY(open_chunk());
    }
  }
  std::uint32_t chunk() const { return next_chunk_ - 1; }
  std::uint64_t entries() const { return entries_; }

 private:
  Status open_chunk() {
    SLUICE_LET(chunk, scan_.reader.get(keys::chunk(part_, id_, generation_, next_chunk_)));
    const std::string where = "chunk " + std::to_string(next_chunk_) + " of " +
                              directory_text(id_) + std::string(side_text(part_));
    if (!chunk) {
      scan_.problem(4, where + " is missing");
      return {Code::corrupt, where + " is missing"};
    }
    ++next_chunk_;
    ++scan_.report.chunks;
    chunk_ = std::move(*chunk);
    SLUICE_LET(reader, ChunkReader::open(chunk_));
    if (reader.entries() == 0) scan_.problem(4, where + " has no entries");
    reader_ = std::move(reader);
    return {};
  }

  const Entry* count(const Entry* entry) {
    if (entries_ != 0 && entry->name <= last_)
      scan_.problem(4, "the names of " + directory_text(id_) + std::string(side_text(part_)) +
                           " are not in order");
    last_ = entry->name;
    ++entries_;
    ++scan_.report.entries;
    return entry;
  }

  VerifyScan& scan_;
  Part part_;
  FolderId id_;
  std::uint32_t generation_ = 0;
  std::uint32_t chunks_ = 0;
  std::uint32_t next_chunk_ = 0;
  std::string chunk_;
  std::optional<ChunkReader> reader_;
  std::string last_;
  std::uint64_t entries_ = 0;
};

Tallies without_zeros(Tallies tallies) {
  tallies.erase_if([](const auto& tally) { return tally.second == 0; });
  return tallies;
}

class FolderCheck {
 public:
  FolderCheck(VerifyScan& scan, FolderId id, const Folder& src)
      : scan_(scan), id_(id), src_(src), node_(scan.nodes[id]) {}

  Status run() {
    check_place();
    auto dst = read_folder(scan_.reader, Side::dst, id_);
    if (dst)
      dst_ = std::move(*dst);
    else
      SLUICE_TRY(scan_.problem_if_corrupt(dst.error(), name() + " of the destination"));
    pending_ = scan_.pending_on(Side::src, id_);
    dst_pending_ = scan_.pending_on(Side::dst, id_);
    settled_ = dst_ && dst_pending_ == nullptr && !node_.unsettled && !node_.dropped;
    note_records();
    check_dst();
    return check_names();
  }

 private:
  std::string name() const { return directory_text(id_); }
  bool is_above_root() const { return id_ == kAboveRoot; }
  std::uint32_t level_below() const { return is_above_root() ? 0 : src_.level + 1; }

  void check_place() {
    if (src_.status == TraversalStatus::pending)
      scan_.problem(1, name() + " has a record that says it is pending");
    if (id_ >= scan_.state.next_id) scan_.problem(2, name() + " has a number not given out yet");
    if (is_above_root()) return;
    if (scan_.drops.contains(id_)) node_.dropped = true;
    if (!node_.reached) {
      if (!node_.dropped) scan_.problem(2, name() + " is not reached from the root");
      return;
    }
    if (src_.parent != node_.parent) scan_.problem(2, name() + " names another parent");
    if (src_.level != node_.level) scan_.problem(2, name() + " is not one level below its parent");
    if (name_hash(src_.name) != node_.name_hash)
      scan_.problem(2, name() + " has another name than in its parent's block");
  }

  void note_records() {
    node_.has_src = true;
    node_.level = src_.level;
    node_.src_generation = src_.generation;
    node_.src_chunks = src_.chunks;
    scan_.add(src_.tallies);
    if (!is_above_root()) ++scan_.report.folders;
    if (!is_above_root() && pending_ == nullptr) count_own(Tally::src, src_.status);
    if (!dst_) return;
    node_.has_dst = true;
    node_.dst_generation = dst_->generation;
    node_.dst_chunks = dst_->chunks;
    scan_.add(dst_->tallies);
    if (is_above_root() || dst_pending_ != nullptr) return;
    if (const auto status = counted_as(Side::dst, *dst_)) count_own(Tally::dst, *status);
  }

  void count_own(Tally what, TraversalStatus status) {
    const TallyKey key{
        .what = what, .level = src_.level, .which = static_cast<std::uint8_t>(status)};
    ++scan_.counted[key];
  }

  void check_dst() {
    if (!dst_ || is_above_root()) return;
    if (dst_->level != src_.level) scan_.problem(3, name() + " has another level on each side");
    if (!settled_ || !node_.compared) return;
    if (dst_->presence != node_.presence)
      scan_.problem(3, name() +
                           " is, or is not, there on the destination: its parent's block and "
                           "its own record differ");
    if (dst_->set_attributes != node_.set_attributes)
      scan_.problem(6, name() +
                           " has attributes to set, or none: the verdict on it and its own "
                           "record differ");
  }

  Status check_names() {
    CheckedBlock src(scan_, Part::src, id_, src_);
    CheckedBlock dst(scan_, Part::dst, id_, dst_);
    auto copied = copied_in(scan_.reader, id_);
    if (!copied) return Failure{copied.error()};
    copied_ = std::move(*copied);
    Status read = advance_copied();
    if (read.ok())
      read =
          join(src, dst, [&](const Entry* s, const Entry* d) { return take(s, d, src.chunk()); });
    if (!read.ok()) return scan_.problem_if_corrupt(read, "a chunk of " + name());
    if (src.entries() != src_.entries)
      scan_.problem(4, name() + " has another number of entries than its record says");
    if (dst_ && dst.entries() != dst_->entries)
      scan_.problem(4, name() +
                           " has another number of entries on the destination than its record "
                           "says");
    if (is_above_root()) return {};
    if (src_counts_.at_level(level_below()) != without_zeros(src_.tallies))
      scan_.problem(5, name() + " of the source contributes other counts than its block has");
    if (!settled_) return {};
    if (dst_counts_.at_level(level_below()) != without_zeros(dst_->tallies))
      scan_.problem(5, name() + " of the destination contributes other counts than its block has");
    return check_work();
  }

  Status take(const Entry* src, const Entry* dst, std::uint32_t chunk) {
    const std::string entry_name(src != nullptr ? src->name : dst->name);
    VerifyNode* child = nullptr;
    if (src != nullptr) {
      if ((src->id != 0) != is_task(*src))
        scan_.problem(2, "an entry of " + name() + " has a number, or none, against its kind");
      if (src->id != 0)
        child = reach(*src);
      else
        src_counts_.add(Tally::src, status_on_src(*src), 1);
    }
    if (!dst_) return {};
    const bool known = dst_->status == TraversalStatus::successful || dst_->changed;
    const Verdict verdict = known ? compare(src, dst, scan_.rules).verdict : Verdict::unknown;
    if (child != nullptr && dst_pending_ == nullptr) {
      child->compared = true;
      child->presence = known ? presence_on_dst(dst) : Presence::unknown;
      child->set_attributes = copy_status(verdict) == CopyStatus::pending;
    }
    SLUICE_LET(outcome, outcome_of(entry_name));
    count(dst_counts_, {.src = src,
                        .dst = dst,
                        .verdict = verdict,
                        .copy = outcome.value_or(copy_status(verdict))});
    const WorkKey here{.level = src_.level, .id = id_, .chunk = chunk};
    plan(asked_, here, src, verdict);
    // A copy passes over what is excluded, and takes the step away.
    const bool passed_over =
        scan_.state.copied && (node_.excluded || scan_.exclusions.contains({id_, entry_name}));
    if (!outcome && !passed_over) plan(needed_, here, src, verdict);
    return {};
  }

  /// The directory that an entry stands for.
  VerifyNode* reach(const Entry& entry) {
    VerifyNode& child = scan_.nodes[entry.id];
    if (child.reached || entry.id <= id_) {
      scan_.problem(2, directory_text(entry.id) + " is in two places, or above its parent");
      return nullptr;
    }
    child.reached = true;
    child.parent = id_;
    child.name_hash = name_hash(is_above_root() ? std::string_view() : entry.name);
    child.level = level_below();
    child.dropped = node_.dropped;
    child.excluded = node_.excluded || scan_.exclusions.contains({id_, std::string(entry.name)});
    child.unsettled = node_.unsettled || dst_pending_ != nullptr;
    child.src_optional =
        pending_ != nullptr && pending_->folder.expanded && entry.name > *pending_->folder.expanded;
    return &child;
  }

  Status advance_copied() {
    SLUICE_LET(following, copied_->next());
    copied_entry_ = following;
    return {};
  }

  Result<std::optional<CopyStatus>> outcome_of(std::string_view entry_name) {
    while (copied_entry_ != nullptr && copied_entry_->name < entry_name)
      SLUICE_TRY(advance_copied());
    if (copied_entry_ == nullptr || copied_entry_->name != entry_name)
      return std::optional<CopyStatus>();
    return std::optional(copy_status(*copied_entry_));
  }

  Status check_work() {
    const WorkKey own{.pass = Pass::attributes, .level = src_.level, .id = id_};
    if (dst_->set_attributes) {
      asked_.insert(own);
      needed_.insert(own);
    }
    std::set<WorkKey> found;
    for (std::uint8_t pass = 0; pass < kPasses; ++pass) {
      const auto range = keys::work_of(static_cast<Pass>(pass), src_.level, id_);
      SLUICE_LET(rows, scan_.reader.scan(range));
      for (const kv::KeyValue& row : rows)
        if (const auto key = keys::parse_work(row.key)) found.insert(*key);
    }
    // A copy that has begun takes steps away when they are done, and only of names it keeps notes.
    for (const WorkKey& key : needed_) {
      const bool noted = key.pass == Pass::folders || key.pass == Pass::files;
      if (!found.contains(key) && (noted || !scan_.state.copied))
        scan_.problem(6, "a step of pass " + pass_text(key) + " is not planned for " + name());
    }
    for (const WorkKey& key : found) {
      if (key.pass == Pass::links && scan_.state.copied) continue;
      if (!asked_.contains(key))
        scan_.problem(
            6, "a step of pass " + pass_text(key) + " is planned without need for " + name());
    }
    return {};
  }

  static std::string pass_text(const WorkKey& key) {
    return std::to_string(static_cast<unsigned>(key.pass));
  }

  VerifyScan& scan_;
  const FolderId id_;
  const Folder& src_;
  VerifyNode& node_;
  std::optional<Folder> dst_;
  const VerifyPending* pending_ = nullptr;
  const VerifyPending* dst_pending_ = nullptr;
  bool settled_ = false;
  std::unique_ptr<EntryStream> copied_;
  const Entry* copied_entry_ = nullptr;
  NameCounts src_counts_;
  NameCounts dst_counts_;
  std::set<WorkKey> asked_;
  std::set<WorkKey> needed_;
};

}  // namespace

Status verify_folder(VerifyScan& scan, FolderId id, const Folder& src) {
  return FolderCheck(scan, id, src).run();
}

}  // namespace sluice::migrate
