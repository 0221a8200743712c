// SPDX-License-Identifier: MIT
#include "migrate/copy_unit.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "migrate/compare.h"
#include "migrate/copy_file.h"
#include "migrate/copy_results.h"
#include "migrate/folder_attempt.h"
#include "migrate/open_folder.h"
#include "migrate/removal.h"
#include "migrate/stat_entry.h"
#include "migrate/stream.h"
#include "migrate/temp_name.h"
#include "migrate/walk.h"

namespace sluice::migrate {
namespace {

/// As what a name is counted among those to copy; those to remove are not.
struct Counted {
  Tally tally = Tally::copy_files;
  std::uint64_t bytes = 0;
};
constexpr Counted kAsFolder{.tally = Tally::copy_folders};

/// Tags temporary names, so that they are told from those of others.
constexpr std::string_view kTempTag = "sluice-migrate";
/// One directory on both sides, as the ledger knows it.
class Unit {
 public:
  Unit(CopyGround& ground, const WorkKey& work, const std::stop_token& stop)
      : ground_(ground), work_(work), stop_(stop) {}

  Result<CopyUnitOutcome> run(std::uint64_t deletes_left) {
    deletes_left_ = deletes_left;
    SLUICE_TRY(look_up());
    SLUICE_LET(excluded, ground_.is_excluded(work_.id));
    if (excluded) {
      outcome_.complete = false;
      return std::move(outcome_);
    }
    open_folders();
    switch (work_.pass) {
      case Pass::folders:
        SLUICE_TRY(each_pair([&](auto s, auto d) { return folder(s, d); }));
        break;
      case Pass::files:
      case Pass::links:
        SLUICE_TRY(each_pair([&](auto s, auto d) { return file(s, d); }));
        break;
      case Pass::deletes:
        SLUICE_TRY(each_pair([&](auto s, auto d) { return extra(s, d); }));
        break;
      case Pass::attributes:
        SLUICE_TRY(attributes());
        break;
    }
    results_.write(outcome_.change);
    if (outcome_.complete) outcome_.change.erase(keys::work(work_));
    // An earlier run may have set the folder's own attributes when this was not yet done.
    if (touched_)
      outcome_.change.put(
          keys::work({.pass = Pass::attributes, .level = work_.level, .id = work_.id}), "");
    return std::move(outcome_);
  }

 private:
  using Pair = std::function<Status(const Entry* src, const Entry* dst)>;

  Status look_up() {
    SLUICE_TRY(ground_.store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(src, read_folder(reader, Side::src, work_.id));
      SLUICE_LET(dst, read_folder(reader, Side::dst, work_.id));
      if (!src || !dst) return {Code::corrupt, "work is planned on a directory without a record"};
      SLUICE_LET(path, read_path(reader, src->parent, src->name));
      src_ = std::move(*src);
      dst_ = std::move(*dst);
      path_ = std::move(path);
      results_ = CopyResults(work_, src_.parent);
      return results_.read(reader);
    }));
    return {};
  }

  void open_folders() {
    auto src = open_folder(ground_.src.get(), path_, O_PATH);
    auto dst = open_folder(ground_.dst.get(), path_, O_PATH);
    if (src) src_dir_ = std::move(*src);
    if (dst) dst_dir_ = std::move(*dst);
    if (!src)
      fault_ = src.error() == ENOENT ? kDriftedSrc : static_cast<std::uint32_t>(src.error());
    if (!dst) fault_ = dst.error() == ENOENT ? kNotCopied : static_cast<std::uint32_t>(dst.error());
    if (dst && (work_.pass == Pass::files || work_.pass == Pass::links))
      ground_.clean_once(work_.id, dst_dir_.get());
  }

  /// The names of this unit on both sides, until somebody wants to stop.
  Status each_pair(const Pair& pair) {
    BlockStream src(ground_.store, {.part = Part::src,
                                    .id = work_.id,
                                    .generation = src_.generation,
                                    .chunks = whole_folder() ? src_.chunks : work_.chunk + 1});
    BlockStream dst(
        ground_.store,
        {.part = Part::dst, .id = work_.id, .generation = dst_.generation, .chunks = dst_.chunks});
    if (!whole_folder()) src.seek(work_.chunk);
    const Status status = join(src, dst, [&](const Entry* s, const Entry* d) -> Status {
      if (stop_.stop_requested()) return {Code::cancelled, ""};
      return pair(s, d);
    });
    if (status.code() != Code::cancelled) return status;
    outcome_.complete = false;
    return {};
  }
  bool whole_folder() const { return work_.pass == Pass::folders || work_.pass == Pass::deletes; }

  Comparison compared(const Entry* src, const Entry* dst) const {
    return compare(src, dst, ground_.options.settings.rules);
  }
  bool is_folder_now(std::string_view name) const {
    const auto now = look_at(dst_dir_.get(), name);
    return now && now->kind == Kind::folder;
  }
  bool is_left_out(const Entry& entry) const { return ground_.is_excluded(work_.id, entry.name); }

  // ------------------------------------------------------------------------------------- folders

  Status folder(const Entry* src, const Entry* dst) {
    if (src == nullptr || src->kind != Kind::folder || results_.has(src->name)) return {};
    const Verdict verdict = compared(src, dst).verdict;
    if (verdict != Verdict::missing && verdict != Verdict::clash) return {};
    if (is_left_out(*src)) return leave();
    if (fault_ != 0) return note(*src, kAsFolder, failed(fault_));
    // A run that was killed may have made it, and not have said so.
    if (verdict == Verdict::clash && !is_folder_now(src->name)) {
      const Removed removed = remove_entry(dst_dir_.get(), *dst);
      if (removed.fault && removed.fault->why != CopyFault::Why::in_the_way)
        return note(*src, kAsFolder, failed(reason_of(*removed.fault)));
    }
    const auto made = make_folder(dst_dir_.get(), src->name);
    return note(*src, kAsFolder,
                made ? Done{.entry = {.kind = Kind::folder}} : failed(reason_of(made.error())));
  }

  // --------------------------------------------------------------------------------------- files

  Status file(const Entry* src, const Entry* dst) {
    if (src == nullptr || src->kind == Kind::folder || results_.has(src->name)) return {};
    if (work_.pass == Pass::links && src->inode == 0) return {};
    const Verdict verdict = compared(src, dst).verdict;
    if (verdict != Verdict::missing && verdict != Verdict::clash && verdict != Verdict::content &&
        verdict != Verdict::attributes)
      return {};
    if (is_left_out(*src)) return leave();
    const Counted counted{.bytes = verdict == Verdict::attributes ? 0 : src->size};
    if (fault_ != 0) return note(*src, counted, failed(fault_));
    if (dst != nullptr && dst->kind == Kind::folder) {
      // If it is none any more, copy() finds out whether a run that was killed has done it.
      const auto fault = is_folder_now(dst->name) ? clear_the_way(*dst) : 0;
      if (fault != 0) return note(*src, counted, failed(fault));
      dst = nullptr;
    }
    const bool grouped =
        src->inode != 0 && src->kind == Kind::file && verdict != Verdict::attributes;
    if (grouped) {
      SLUICE_LET(linked, link(*src, dst));
      if (linked) return {};
    }
    const Done done = copy(*src, dst, verdict == Verdict::attributes);
    if (done.error == ECANCELED && stop_.stop_requested()) return leave();
    if (grouped && done.outcome == CopyOutcome::copied)
      outcome_.change.put(keys::link(src->device, src->inode),
                          encode(LinkPlace{.folder = work_.id, .name = std::string(src->name)}));
    return note(*src, counted, done);
  }

  Done copy(const Entry& src, const Entry* dst, bool attributes_only) {
    const std::string temp = temp_name(kTempTag, src.name);
    const CopyOrder order{
        .src = src_dir_.get(), .dst = dst_dir_.get(), .wanted = src, .replaced = dst, .temp = temp};
    const CopyRules& rules = ground_.options.rules;
    const auto made = attributes_only          ? set_attributes(order, rules)
                      : src.kind == Kind::file ? copy_file(order, rules)
                      : src.kind == Kind::link ? copy_link(order, rules)
                                               : copy_special(order, rules);
    if (made) return {.entry = made->entry, .hash = made->hash};
    // A run that was killed may have done it, and not have said so.
    if (made.error().why == CopyFault::Why::drift_dst) {
      const auto now = look_at(dst_dir_.get(), src.name);
      if (now && still_is(*now, src)) {
        const CopyOrder again{.src = order.src, .dst = order.dst, .wanted = src};
        const auto set = set_attributes(again, rules);
        if (set) return {.entry = set->entry};
      }
    }
    return failed(reason_of(made.error()));
  }

  /// 0, or why the folder that is in the way of a file stays.
  std::uint32_t clear_the_way(const Entry& dst) {
    if (!ground_.options.copy.remove) return kInTheWay;
    if (dst_.status != TraversalStatus::successful || src_.status != TraversalStatus::successful)
      return kInTheWay;
    const Removed removed = remove_tree(dst_dir_.get(), dst, remove_rules(dst.name));
    outcome_.deleted += removed.entries;
    deletes_left_ -= std::min(deletes_left_, removed.entries);
    if (removed.done()) return 0;
    return removed.fault ? reason_of(*removed.fault) : kDeleteLimit;
  }

  /// Whether it was dealt with as another name of a file that is, or will be, there.
  Result<bool> link(const Entry& src, const Entry* dst) {
    std::optional<LinkPlace> place;
    SLUICE_TRY(ground_.store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(bytes, reader.get(keys::link(src.device, src.inode)));
      if (!bytes) return {};
      SLUICE_LET(found, decode_link(*bytes));
      place = std::move(found);
      return {};
    }));
    if (!place) {
      if (ground_.leads(src.device, src.inode) || work_.pass == Pass::links) return false;
      // After this pass the first of them is there.
      outcome_.change.put(
          keys::work(
              {.pass = Pass::links, .level = work_.level, .id = work_.id, .chunk = work_.chunk}),
          "");
      return true;
    }
    SLUICE_LET(linked, link_to_place(src, dst, *place));
    if (!linked) return false;
    SLUICE_TRY(note(src, Counted{.bytes = src.size}, *linked));
    return true;
  }

  Result<std::optional<Done>> link_to_place(const Entry& src, const Entry* dst,
                                            const LinkPlace& place) {
    std::string path;
    SLUICE_TRY(ground_.store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(folder, read_folder(reader, Side::src, place.folder));
      if (!folder) return {};
      SLUICE_LET(found, read_path(reader, folder->parent, folder->name));
      path = std::move(found);
      return {};
    }));
    const auto folder = open_folder(ground_.dst.get(), path, O_PATH);
    if (!folder) return std::optional<Done>();
    auto first = look_at(folder->get(), place.name);
    if (!first || !still_is(*first, src)) return std::optional<Done>();
    first->name = place.name;
    const std::string temp = temp_name(kTempTag, src.name);
    const auto try_link = [&](const Entry* replaced) {
      return link_to({.src = src_dir_.get(),
                      .dst = dst_dir_.get(),
                      .wanted = src,
                      .replaced = replaced,
                      .temp = temp},
                     {.folder = folder->get(), .known = *first});
    };
    auto made = try_link(dst);
    if (!made && made.error().why == CopyFault::Why::drift_dst) {
      // A run that was killed may have copied it by itself.
      auto now = look_at(dst_dir_.get(), src.name);
      if (now && still_is(*now, src)) {
        now->name = src.name;
        made = try_link(&*now);
      }
    }
    if (!made) return std::optional<Done>();  // Copied by itself, then.
    return std::optional<Done>({.entry = made->entry});
  }

  // ------------------------------------------------------------------------------------- deletes

  RemoveRules remove_rules(std::string_view name) {
    RemoveRules rules{.max = deletes_left_};
    if (ground_.filters.empty()) return rules;
    rules.keep = [this, above = join_path(path_, name)](std::string_view below) {
      const std::string path = join_path(above, below);
      return ground_.filters.matches(path.c_str() + path.rfind('/') + 1, path.c_str());
    };
    return rules;
  }

  Status extra(const Entry* src, const Entry* dst) {
    if (src != nullptr || results_.has(dst->name)) return {};
    if (compared(nullptr, dst).verdict != Verdict::extra) return {};
    // What could not be listed may be there: nothing is removed on a guess.
    const bool certain =
        src_.status == TraversalStatus::successful && dst_.status == TraversalStatus::successful;
    if (!certain || is_left_out(*dst)) return leave();
    if (fault_ != 0) return note(*dst, std::nullopt, failed(fault_));
    if (const auto now = look_at(src_dir_.get(), dst->name); now || now.error() != ENOENT)
      return note(*dst, std::nullopt, failed(kDriftedSrc));
    if (deletes_left_ == 0) return note(*dst, std::nullopt, failed(kDeleteLimit));
    const Removed removed = dst->kind == Kind::folder
                                ? remove_tree(dst_dir_.get(), *dst, remove_rules(dst->name))
                                : remove_entry(dst_dir_.get(), *dst);
    outcome_.deleted += removed.entries;
    deletes_left_ -= std::min(deletes_left_, removed.entries);
    ground_.progress.deleted += removed.entries;
    if (removed.done())
      return note(*dst, std::nullopt, {.outcome = CopyOutcome::deleted, .entry = {}});
    return note(*dst, std::nullopt,
                failed(removed.fault ? reason_of(*removed.fault) : kDeleteLimit));
  }

  // ---------------------------------------------------------------------------------- attributes

  /// Of the folder itself: the last that is done to it.
  Status attributes() {
    SLUICE_LET(above, parent_blocks());
    const std::string_view name = work_.id == kRoot ? "." : std::string_view(src_.name);
    SLUICE_LET(src, find_entry(ground_.store, above.src, name));
    SLUICE_LET(dst, find_entry(ground_.store, above.dst, name));
    if (src.entry == nullptr)
      return error(Code::corrupt, "a directory of the ledger is not in its parent's block");
    Entry wanted = *src.entry;
    wanted.name = {};
    Done done = failed(fault_);
    if (fault_ == 0) {
      const auto set = set_attributes(
          {.src = src_dir_.get(), .dst = dst_dir_.get(), .wanted = wanted}, ground_.options.rules);
      done = set ? Done{.entry = set->entry} : failed(reason_of(set.error()));
    }
    if (done.outcome == CopyOutcome::failed) outcome_.complete = false;
    // Only if that was all there was to do to it: otherwise its making was counted, but for that of
    // the root, which is in no folder.
    const Verdict verdict = compared(src.entry, dst.entry).verdict;
    const bool made_root = work_.id == kRoot && verdict == Verdict::missing;
    if (verdict != Verdict::attributes && !made_root) return {};
    return note(*src.entry, kAsFolder, done);
  }

  struct Blocks {
    BlockStream::Block src;
    BlockStream::Block dst;
  };
  Result<Blocks> parent_blocks() {
    Blocks blocks;
    SLUICE_TRY(ground_.store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(src, read_folder(reader, Side::src, src_.parent));
      SLUICE_LET(dst, read_folder(reader, Side::dst, src_.parent));
      if (!src || !dst) return {Code::corrupt, "a directory of the ledger has no parent"};
      blocks.src = {.part = Part::src,
                    .id = src_.parent,
                    .generation = src->generation,
                    .chunks = src->chunks};
      blocks.dst = {.part = Part::dst,
                    .id = src_.parent,
                    .generation = dst->generation,
                    .chunks = dst->chunks};
      return {};
    }));
    return blocks;
  }

  // ------------------------------------------------------------------------------------- results

  Status leave() {
    outcome_.complete = false;
    return {};
  }

  static CopyStatus counted_as(CopyOutcome outcome) {
    return outcome == CopyOutcome::failed ? CopyStatus::failed : CopyStatus::successful;
  }

  Status note(const Entry& entry, const std::optional<Counted>& counted, Done done) {
    const bool good = done.outcome != CopyOutcome::failed;
    touched_ = touched_ || (good && work_.pass != Pass::attributes);
    if (!good) {
      outcome_.complete = false;
      ++ground_.progress.failed;
    }
    ++ground_.progress.names;
    done.entry.kind = entry.kind;
    const CopyStatus to = counted_as(done.outcome);
    const auto before = results_.put(entry.name, std::move(done));
    if (!counted) return {};
    const CopyStatus from = before ? counted_as(*before) : CopyStatus::pending;
    move(counted->tally, from, to, 1);
    move(Tally::copy_bytes, from, to, counted->bytes);
    return {};
  }

  void move(Tally tally, CopyStatus from, CopyStatus to, std::uint64_t amount) {
    if (from == to || amount == 0) return;
    const std::uint32_t level = work_.pass == Pass::attributes ? work_.level : work_.level + 1;
    Tallies& moved = outcome_.moved[results_.owner()];
    const auto count = static_cast<std::int64_t>(amount);
    moved[{.what = tally, .level = level, .which = static_cast<std::uint8_t>(from)}] -= count;
    moved[{.what = tally, .level = level, .which = static_cast<std::uint8_t>(to)}] += count;
  }

  CopyGround& ground_;
  const WorkKey work_;
  const std::stop_token& stop_;
  CopyUnitOutcome outcome_;
  Folder src_;
  Folder dst_;
  std::string path_;
  Descriptor src_dir_;
  Descriptor dst_dir_;
  std::uint32_t fault_ = 0;  // Why nothing can be done here.
  std::uint64_t deletes_left_ = 0;
  bool touched_ = false;  // Something in the folder is another now, and so is its time.
  CopyResults results_;
};

}  // namespace

Result<CopyUnitOutcome> run_unit(CopyGround& ground, const WorkKey& work,
                                 const std::stop_token& stop, std::uint64_t deletes_left) {
  return Unit(ground, work, stop).run(deletes_left);
}

}  // namespace sluice::migrate
