// SPDX-License-Identifier: MIT
#include "tests/kv/power_cut/replay.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "tests/kv/notes.h"

namespace sluice::test {
namespace {

void write_at(std::string& file, std::uint64_t offset, std::string_view bytes) {
  if (file.size() < offset + bytes.size()) file.resize(offset + bytes.size(), '\0');
  std::memcpy(file.data() + offset, bytes.data(), bytes.size());
}

bool overlap(const IoRecord& a, const IoRecord& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

std::uint64_t sectors_of(const IoRecord& write) {
  return (write.offset + write.bytes - 1) / Replay::kSectorBytes -
         write.offset / Replay::kSectorBytes + 1;
}

// Some sectors of a write, each as a whole.
void write_torn(std::string& file, const IoRecord& write, Random& random) {
  const double share = random.unit();
  for (std::uint64_t at = write.offset; at < write.offset + write.bytes;) {
    const std::uint64_t sector_end = (at / Replay::kSectorBytes + 1) * Replay::kSectorBytes;
    const std::uint64_t end = std::min(sector_end, write.offset + write.bytes);
    if (random.chance(share))
      write_at(file, at, std::string_view(write.data).substr(at - write.offset, end - at));
    at = end;
  }
}

}  // namespace

CutMode cut_mode_named(const std::string& name) {
  if (name == "syncs_ignored") return CutMode::syncs_ignored;
  if (name == "meta_first") return CutMode::meta_first;
  SLUICE_CHECK(name == "honest");
  return CutMode::honest;
}

bool Replay::step() {
  if (position_ == log_.size()) return false;
  const IoRecord& record = log_[position_++];
  switch (record.kind) {
    case IoHeader::write_begin:
      begin_write(record);
      break;
    case IoHeader::write_done:
      finish_write(record);
      break;
    case IoHeader::sync_begin:
      for (const Pending& write : pending_)
        if (write.done) syncs_[record.id].push_back(write.write->id);
      break;
    case IoHeader::sync_done:
      if (mode_ != CutMode::syncs_ignored) settle(syncs_[record.id]);
      syncs_.erase(record.id);
      break;
    case IoHeader::note:
      apply_notes(record.data, truth_);
      break;
    case IoHeader::rename:
      renamed_ = true;
      break;
    case IoHeader::dir_sync:
      // Even where syncs are ignored: a store without its name is no test of what is in it.
      name_synced_ = renamed_;
      break;
    // The engine never shortens its file; if it begins to, this model needs to know how.
    case IoHeader::truncate:
      SLUICE_CHECK(record.kind != IoHeader::truncate);
      break;
  }
  return true;
}

void Replay::begin_write(const IoRecord& record) {
  if (mode_ == CutMode::meta_first && record.synchronous == 0) settle_meta_of_this_batch();
  pending_.push_back({.write = &record});
  if (pending_.size() > kPendingMax) settle({pending_.front().write->id});
}

void Replay::finish_write(const IoRecord& record) {
  const auto found = std::ranges::find_if(
      pending_, [&](const Pending& write) { return write.write->id == record.id; });
  if (found == pending_.end()) return;
  found->done = true;
  if (record.synchronous != 0 && mode_ != CutMode::syncs_ignored) settle({record.id});
}

// Makes writes durable. An older one that overlaps goes first: it can no longer come after.
void Replay::settle(const std::vector<std::uint64_t>& ids) {
  const auto chosen = [&](const Pending& candidate) {
    return std::ranges::any_of(pending_, [&](const Pending& write) {
      return std::ranges::find(ids, write.write->id) != ids.end() &&
             (candidate.write == write.write ||
              (candidate.write->id < write.write->id && overlap(*candidate.write, *write.write)));
    });
  };
  std::vector<Pending> rest;
  for (const Pending& write : pending_) {
    if (chosen(write)) {
      write_at(durable_, write.write->offset, write.write->data);
    } else {
      rest.push_back(write);
    }
  }
  pending_ = std::move(rest);
}

void Replay::settle_meta_of_this_batch() {
  for (std::size_t at = position_; at < log_.size(); ++at)
    if (log_[at].kind == IoHeader::write_begin && log_[at].synchronous != 0) {
      write_at(durable_, log_[at].offset, log_[at].data);
      return;
    }
}

std::uint64_t Replay::images_max() const {
  std::uint64_t sectors = renamed_ && !name_synced_ ? 1 : 0;  // A name is there or not, as one is.
  for (const Pending& write : pending_) sectors += sectors_of(*write.write);
  return std::uint64_t{1} << std::min<std::uint64_t>(sectors, 40);
}

bool Replay::named(Random& random) const {
  return name_synced_ || (renamed_ && random.chance(0.5));
}

std::string Replay::image(Random& random) const {
  std::string file = durable_;
  std::vector<Pending> order = pending_;
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const Pending& write : order) {
    switch (random.below(3)) {
      case 0:
        break;
      case 1:
        write_at(file, write.write->offset, write.write->data);
        break;
      default:
        write_torn(file, *write.write, random);
        break;
    }
  }
  return file;
}

std::string Replay::live_file() const {
  std::string file = durable_;
  for (const Pending& write : pending_) write_at(file, write.write->offset, write.write->data);
  return file;
}

}  // namespace sluice::test
