// SPDX-License-Identifier: MIT
#include "migrate/copy_files.h"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <utility>

#include "migrate/open_folder.h"
#include "migrate/plan.h"
#include "migrate/walk.h"

namespace sluice::migrate {

Status CopyFiles::run() {
  if (folder_.dst_dir() >= 0) folder_.ground().clean_once(folder_.work().id, folder_.dst_dir());
  SLUICE_TRY(folder_.each_pair([this](const Entry* s, const Entry* d) { return decide(s, d); }));
  folder_.ground().loops.run(wanted_.size(), [this](std::size_t at) { copy(wanted_[at]); });
  for (Wanted& wanted : wanted_) record(wanted);
  return {};
}

Status CopyFiles::decide(const Entry* src, const Entry* dst) {
  if (src == nullptr || src->kind == Kind::folder || folder_.is_done(*src)) return {};
  if (folder_.work().pass == Pass::links && src->inode == 0) return {};
  const Verdict verdict = folder_.verdict(src, dst);
  if (copy_status(verdict) != CopyStatus::pending) return {};
  if (folder_.is_left_out(*src)) return folder_.leave();
  const bool attributes_only = verdict == Verdict::attributes;
  const Counted counted{.bytes = attributes_only ? 0 : src->size};
  if (folder_.fault() != 0) return folder_.note(*src, counted, failed(folder_.fault()));
  if (dst != nullptr && dst->kind == Kind::folder) {
    // If it is none any more, copy_name() finds out whether a run that was killed has done it.
    const auto fault = folder_.is_folder_now(dst->name) ? clear_the_way(*dst) : 0;
    if (fault != 0) return folder_.note(*src, counted, failed(fault));
    dst = nullptr;
  }
  const bool grouped = src->inode != 0 && src->kind == Kind::file && !attributes_only;
  if (grouped) {
    SLUICE_LET(linked, link(*src, dst));
    if (linked) return {};
  }
  wanted_.push_back({.src = keep(*src),
                     .dst = dst != nullptr ? std::optional(keep(*dst)) : std::nullopt,
                     .extent = attributes_only ? CopyExtent::attributes : CopyExtent::all,
                     .leads = grouped,
                     .counted = counted});
  return {};
}

/// 0, or why the folder that is in the way of a file stays.
std::uint32_t CopyFiles::clear_the_way(const Entry& dst) {
  if (!folder_.ground().options.copy.remove || !folder_.is_certain()) return kInTheWay;
  const Removed removed = folder_.remove(dst);
  if (removed.done()) return 0;
  return removed.fault ? reason_of(*removed.fault) : kDeleteLimit;
}

/// Whether it was dealt with as another name of a file that is, or will be, there.
Result<bool> CopyFiles::link(const Entry& src, const Entry* dst) {
  std::optional<LinkPlace> place;
  SLUICE_TRY(folder_.ground().store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(bytes, reader.get(keys::link(src.device, src.inode)));
    if (!bytes) return {};
    SLUICE_LET(found, decode_link(*bytes));
    place = std::move(found);
    return {};
  }));
  const WorkKey& work = folder_.work();
  if (!place) {
    if (folder_.ground().leads(src.device, src.inode) || work.pass == Pass::links) return false;
    // After this pass the first of them is there.
    folder_.change().put(
        keys::work({.pass = Pass::links, .level = work.level, .id = work.id, .chunk = work.chunk}),
        "");
    return true;
  }
  SLUICE_LET(linked, link_to_place(src, dst, *place));
  if (!linked) return false;
  SLUICE_TRY(folder_.note(src, Counted{.bytes = src.size}, *linked));
  return true;
}

Result<std::optional<Done>> CopyFiles::link_to_place(const Entry& src, const Entry* dst,
                                                     const LinkPlace& place) {
  std::string path;
  SLUICE_TRY(folder_.ground().store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(folder, read_folder(reader, Side::src, place.folder));
    if (!folder) return {};
    SLUICE_LET(found, read_path(reader, folder->parent, folder->name));
    path = std::move(found);
    return {};
  }));
  const auto folder = open_folder(folder_.ground().dst.get(), path, O_PATH);
  if (!folder) return std::optional<Done>();
  return link_name(order(src, dst), {.folder = folder->get(), .name = place.name});
}

CopyOrder CopyFiles::order(const Entry& src, const Entry* dst) const {
  return {.src = folder_.src_dir(), .dst = folder_.dst_dir(), .wanted = src, .replaced = dst};
}

std::size_t CopyFiles::keep(const Entry& entry) {
  kept_.add(entry);
  return kept_.size() - 1;
}

void CopyFiles::copy(Wanted& wanted) const {
  if (folder_.stopped()) return;
  const Entry* replaced = wanted.dst ? &kept_.at(*wanted.dst) : nullptr;
  Done done = copy_name(order(kept_.at(wanted.src), replaced), folder_.ground().options.rules,
                        wanted.extent);
  if (done.error == ECANCELED && folder_.stopped()) return;
  folder_.show(done);
  wanted.done = std::move(done);
}

void CopyFiles::record(Wanted& wanted) {
  if (!wanted.done) {
    (void)folder_.leave();
    return;
  }
  const Entry& src = kept_.at(wanted.src);
  if (wanted.leads && wanted.done->outcome == CopyOutcome::copied)
    folder_.change().put(
        keys::link(src.device, src.inode),
        encode(LinkPlace{.folder = folder_.work().id, .name = std::string(src.name)}));
  folder_.record(src, wanted.counted, std::move(*wanted.done));
}

}  // namespace sluice::migrate
