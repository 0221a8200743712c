// SPDX-License-Identifier: MIT
#include "migrate/copy_results.h"

#include <cerrno>
#include <utility>

#include "migrate/block.h"

namespace sluice::migrate {
namespace {

/// A unit's results take at most so many chunks: they are about as large as what they are of.
constexpr std::uint64_t kChunksPerUnit = 8;

}  // namespace

std::uint32_t reason_of(const CopyFault& fault) {
  switch (fault.why) {
    case CopyFault::Why::drift_src:
      return kDriftedSrc;
    case CopyFault::Why::drift_dst:
      return kDriftedDst;
    case CopyFault::Why::in_the_way:
      return kInTheWay;
    case CopyFault::Why::verify_failed:
      return kVerifyFailed;
    case CopyFault::Why::io:
      break;
  }
  return static_cast<std::uint32_t>(fault.error != 0 ? fault.error : EIO);
}

Done failed(std::uint32_t reason) {
  return {.outcome = CopyOutcome::failed, .error = reason};
}

Status CopyResults::read(kv::Reader& reader) {
  all_.clear();
  SLUICE_LET(rows, reader.scan({.begin = key(0), .end = key(kChunksPerUnit)}));
  for (const kv::KeyValue& row : rows) SLUICE_TRY(remember(row.value));
  return {};
}

Status CopyResults::remember(std::string_view chunk) {
  SLUICE_LET(reader, ChunkReader::open(chunk));
  for (;;) {
    SLUICE_LET(entry, reader.next());
    if (!entry) return {};
    Done done{.outcome = static_cast<CopyOutcome>(entry->id), .error = entry->error};
    done.entry = *entry;
    done.entry.name = done.entry.target = {};
    done.hash = entry->hash;
    all_.emplace(std::string(entry->name), std::move(done));
  }
}

/// With the names that they are of; a folder's attributes under its own number.
std::string CopyResults::key(std::uint64_t number) const {
  const std::uint64_t unit = work_.pass == Pass::attributes ? work_.id : work_.chunk;
  // Links go on where files stopped.
  const Pass pass = work_.pass == Pass::links ? Pass::files : work_.pass;
  return keys::chunk(Part::copied, owner(), static_cast<std::uint32_t>(pass) + 1,
                     unit * kChunksPerUnit + number)
      .to_string();
}

bool CopyResults::has(std::string_view name) const {
  const auto found = all_.find(name);
  return found != all_.end() && found->second.outcome != CopyOutcome::failed;
}

std::optional<CopyOutcome> CopyResults::put(std::string_view name, Done done) {
  changed_ = true;
  const auto [at, is_new] = all_.try_emplace(std::string(name));
  const CopyOutcome before = at->second.outcome;
  at->second = std::move(done);
  return is_new ? std::nullopt : std::optional(before);
}

void CopyResults::write(Change& change) const {
  if (!changed_) return;
  ChunkWriter writer;
  std::uint64_t number = 0;
  const auto end_chunk = [&] { change.put(key(number++), writer.finish()); };
  for (const auto& [name, done] : all_) {
    Entry entry = done.entry;
    entry.name = name;
    entry.error = done.error;
    entry.hash = done.hash;
    entry.id = static_cast<FolderId>(done.outcome);
    if (writer.add(entry)) continue;
    end_chunk();
    (void)writer.add(entry);
  }
  if (!writer.empty()) end_chunk();
}

}  // namespace sluice::migrate
