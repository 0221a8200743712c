// SPDX-License-Identifier: MIT
#include "migrate/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "migrate/folder_attempt.h"
#include "migrate/verify_scan.h"

namespace sluice::migrate {
namespace {

constexpr std::size_t kProblemsMax = 1'000;
constexpr std::size_t kPageRows = 1'024;

constexpr std::array<Side, 2> kSides{Side::src, Side::dst};
constexpr std::array<Part, 4> kParts{Part::src, Part::dst, Part::copied, Part::runs};

bool within(std::string_view key, const kv::Range& range) {
  return range.begin <= key && key < range.end;
}

// ------------------------------------------------------------------------------- tables (M1, M2)

/// Nothing if it is not there, or damaged.
template <class T>
Result<std::optional<T>> read_one(VerifyScan& scan, Result<std::optional<T>> found,
                                  const std::string& what) {
  if (!found) {
    SLUICE_TRY(scan.problem_if_corrupt(found.error(), what));
    return std::optional<T>();
  }
  if (!*found) scan.problem(1, what + " is missing");
  return std::move(*found);
}

Status read_state_and_settings(VerifyScan& scan) {
  SLUICE_LET(settings, read_one(scan, read_settings(scan.reader), "the record of the settings"));
  if (settings) scan.rules = settings->rules;
  SLUICE_LET(there, scan.reader.get(keys::state()));
  if (!there) {
    scan.problem(1, "the record of the state is missing");
    return {};
  }
  const auto state = decode_state(*there);
  if (!state) return scan.problem_if_corrupt(state.error(), "the record of the state");
  scan.state = *state;
  return {};
}

Status read_pending_entries(VerifyScan& scan) {
  for (const Side side : kSides) {
    SLUICE_TRY(each_row(scan.reader, keys::pending_of(side), [&](const kv::KeyValue& row) {
      const auto key = keys::parse_pending(row.key);
      if (!key) return scan.problem_if_corrupt(key.error(), "the key of a pending directory");
      auto folder = decode_pending(row.value);
      if (!folder)
        return scan.problem_if_corrupt(folder.error(), "pending " + directory_text(key->id));
      ++scan.counted[tally_of(side, key->level, TraversalStatus::pending)];
      auto& table = scan.pending[static_cast<std::size_t>(side)];
      const bool first =
          table.emplace(key->id, VerifyPending{.level = key->level, .folder = std::move(*folder)})
              .second;
      if (!first) scan.problem(2, directory_text(key->id) + " is pending twice");
      return Status();
    }));
  }
  return {};
}

Status read_exclusions(VerifyScan& scan) {
  return each_row(scan.reader, keys::exclusions(), [&](const kv::KeyValue& row) -> Status {
    auto key = keys::parse_exclusion(row.key);
    if (!key) return scan.problem_if_corrupt(key.error(), "the key of an exclusion");
    const auto exclusion = decode_exclusion(row.value);
    if (!exclusion)
      return scan.problem_if_corrupt(exclusion.error(), "the exclusion of '" + key->name + "'");
    scan.add(exclusion->moved);
    std::string path = key->name;
    for (FolderId id = key->folder; id != kRoot && id != kAboveRoot;) {
      const auto folder = read_folder(scan.reader, Side::src, id);
      if (!folder || !*folder || (*folder)->parent >= id) {
        scan.problem(7, "'" + exclusion->path + "' is excluded where there is no directory");
        return {};
      }
      path = join_path((*folder)->name, path);
      id = (*folder)->parent;
    }
    if (path != exclusion->path)
      scan.problem(7, "'" + exclusion->path + "' is excluded under another path");
    scan.exclusions.emplace(key->folder, std::move(key->name));
    return {};
  });
}

std::size_t which_count(Tally what) {
  switch (what) {
    case Tally::src:
    case Tally::dst:
      return kTraversalStatuses;
    case Tally::verdict:
    case Tally::verdict_bytes:
    case Tally::dst_bytes:
      return static_cast<std::size_t>(Verdict::excluded) + 1;
    case Tally::copy_files:
    case Tally::copy_folders:
    case Tally::copy_bytes:
      return kCopyStatuses;
    case Tally::drift:
      break;
  }
  return static_cast<std::size_t>(Drift::changed) + 1;
}

Status read_counters(VerifyScan& scan) {
  return each_row(scan.reader, keys::tallies(), [&](const kv::KeyValue& row) {
    const auto key = keys::parse_tally(row.key);
    if (!key) return scan.problem_if_corrupt(key.error(), "the key of a counter");
    const auto count = kv::decode_counter(row.value);
    if (!count) return scan.problem_if_corrupt(count.error(), "a counter");
    if (key->which >= which_count(key->what)) scan.problem(1, "a counter counts nothing known");
    if (*count != 0) scan.stored[*key] = *count;
    return Status();
  });
}

Status read_drops(VerifyScan& scan) {
  return each_row(scan.reader, keys::drops(), [&](const kv::KeyValue& row) {
    const auto id = keys::parse_drop(row.key);
    if (!id) return scan.problem_if_corrupt(id.error(), "the key of a vanished directory");
    if (!row.value.empty()) scan.problem(1, "a key without a value has one");
    scan.drops.insert(*id);
    return Status();
  });
}

// --------------------------------------------------------------------------- directories (M2 - M6)

Status check_src_folders(VerifyScan& scan) {
  return each_row(scan.reader, keys::folders_of(Side::src), [&](const kv::KeyValue& row) {
    const auto id = keys::parse_folder(row.key);
    if (!id) return scan.problem_if_corrupt(id.error(), "the key of a directory");
    const auto folder = decode_folder(row.value);
    if (!folder) return scan.problem_if_corrupt(folder.error(), directory_text(*id));
    return verify_folder(scan, *id, *folder);
  });
}

Status check_dst_folders(VerifyScan& scan) {
  return each_row(scan.reader, keys::folders_of(Side::dst), [&](const kv::KeyValue& row) {
    const auto id = keys::parse_folder(row.key);
    if (!id) return scan.problem_if_corrupt(id.error(), "the key of a directory");
    const auto node = scan.nodes.find(*id);
    if (node == scan.nodes.end() || !node->second.has_src)
      scan.problem(3, directory_text(*id) + " was compared, but its source was never listed");
    return Status();
  });
}

/// What the blocks lead to is there.
void check_reached(VerifyScan& scan) {
  for (const FolderId first : {kAboveRoot, kRoot})
    if (const auto node = scan.nodes.find(first); node == scan.nodes.end())
      scan.problem(2, directory_text(first) + " is missing");
  for (const auto& [id, node] : scan.nodes) {
    const VerifyPending* src = scan.pending_on(Side::src, id);
    if (!node.has_src && src == nullptr && !node.src_optional)
      scan.problem(2, directory_text(id) + " has neither a record nor is it pending");
    const VerifyPending* dst = scan.pending_on(Side::dst, id);
    const bool joined = !node.compared || node.unsettled || node.dropped;
    if (!node.has_dst && dst == nullptr && !joined)
      scan.problem(3, directory_text(id) + " has no counterpart on the destination");
  }
}

void check_pending(VerifyScan& scan) {
  for (const Side side : kSides) {
    for (const auto& [id, pending] : scan.pending[static_cast<std::size_t>(side)]) {
      const auto node = scan.nodes.find(id);
      const unsigned invariant = side == Side::src ? 2 : 3;
      if (node == scan.nodes.end() || !node->second.reached) {
        scan.problem(invariant, directory_text(id) + " is pending, but not reached from the root");
        continue;
      }
      if (pending.level != node->second.level)
        scan.problem(invariant, directory_text(id) + " is pending at another level");
      if (side == Side::dst) continue;
      if (pending.folder.parent != node->second.parent ||
          name_hash(pending.folder.name) != node->second.name_hash)
        scan.problem(2, directory_text(id) + " is pending with another place");
    }
  }
}

bool belongs(const VerifyScan& scan, Part part, const keys::ChunkKey& key) {
  if (part == Part::runs) {
    const auto side = static_cast<Side>(key.id % 2);
    return scan.pending_on(side, key.id / 2) != nullptr;
  }
  const auto node = scan.nodes.find(key.id);
  if (node == scan.nodes.end()) return false;
  const VerifyNode& folder = node->second;
  if (part == Part::copied) return folder.has_dst;
  const bool src = part == Part::src;
  // A large block that is about to be.
  const VerifyPending* pending = scan.pending_on(src ? Side::src : Side::dst, key.id);
  if (pending != nullptr && key.generation == pending->folder.generation) return true;
  if (!(src ? folder.has_src : folder.has_dst)) return false;
  return key.generation == (src ? folder.src_generation : folder.dst_generation) &&
         key.number < (src ? folder.src_chunks : folder.dst_chunks);
}

Status check_chunks(VerifyScan& scan) {
  for (const Part part : kParts)
    SLUICE_TRY(scan.reader.scan(
        keys::chunks_of(part), {}, [&](std::string_view row_key, std::string_view) {
          const auto key = keys::parse_chunk(row_key);
          if (!key)
            scan.problem(1, "the key of a chunk: " + key.error().message());
          else if (!belongs(scan, part, *key))
            scan.problem(4, "a chunk of " + directory_text(key->id) + " belongs to no block");
          return true;
        }));
  return {};
}

Status check_work_keys(VerifyScan& scan) {
  for (std::uint8_t pass = 0; pass < kPasses; ++pass)
    SLUICE_TRY(scan.reader.scan(
        keys::work_of(static_cast<Pass>(pass)), {},
        [&](std::string_view row_key, std::string_view value) {
          const auto key = keys::parse_work(row_key);
          if (!key) {
            scan.problem(1, "the key of a step: " + key.error().message());
            return true;
          }
          if (!value.empty()) scan.problem(1, "a key without a value has one");
          const auto node = scan.nodes.find(key->id);
          if (node == scan.nodes.end() || !node->second.has_dst || node->second.level != key->level)
            scan.problem(
                6, "a step is planned for " + directory_text(key->id) + ", which was not compared");
          return true;
        }));
  return {};
}

// ------------------------------------------------------------------------------ the rest (M5, M7)

std::string tally_text(const TallyKey& key) {
  return "counter (" + std::to_string(static_cast<unsigned>(key.what)) + ", level " +
         std::to_string(key.level) + ", " + std::to_string(key.which) + ")";
}

void check_counters(VerifyScan& scan) {
  std::int64_t drifted = 0;
  scan.stored.erase_if([&](const auto& tally) {
    if (tally.first.what != Tally::drift) return false;
    drifted += tally.second;
    return true;
  });
  if (static_cast<std::uint64_t>(drifted) != scan.state.drifted)
    scan.problem(5, "the counters of drift are " + std::to_string(drifted) + " together, not " +
                        std::to_string(scan.state.drifted));
  for (const auto& [key, count] : scan.stored) scan.counted[key] += 0;
  for (const auto& [key, count] : scan.counted) {
    const std::int64_t value = scan.stored.get(key);
    if (value != count)
      scan.problem(5, tally_text(key) + " is " + std::to_string(value) + ", a recount gives " +
                          std::to_string(count));
  }
}

Status check_no_other_keys(VerifyScan& scan) {
  std::vector<kv::Range> known{keys::tallies(), keys::exclusions(), keys::drops(), keys::links()};
  for (const Side side : kSides) {
    known.push_back(keys::folders_of(side));
    known.push_back(keys::pending_of(side));
  }
  for (const Part part : kParts) known.push_back(keys::chunks_of(part));
  for (std::uint8_t pass = 0; pass < kPasses; ++pass)
    known.push_back(keys::work_of(static_cast<Pass>(pass)));
  return scan.reader.scan(kv::Range::all(), {}, [&](std::string_view key, std::string_view) {
    const bool expected =
        key == keys::settings() || key == keys::state() ||
        std::ranges::any_of(known, [&](const kv::Range& range) { return within(key, range); });
    if (!expected) scan.problem(7, "there is a key of no known kind");
    return true;
  });
}

Status verify_all(VerifyScan& scan) {
  SLUICE_TRY(read_state_and_settings(scan));
  SLUICE_TRY(read_pending_entries(scan));
  SLUICE_TRY(read_exclusions(scan));
  SLUICE_TRY(read_counters(scan));
  SLUICE_TRY(read_drops(scan));
  SLUICE_TRY(check_src_folders(scan));
  SLUICE_TRY(check_dst_folders(scan));
  check_reached(scan);
  check_pending(scan);
  SLUICE_TRY(check_chunks(scan));
  SLUICE_TRY(check_work_keys(scan));
  check_counters(scan);
  return check_no_other_keys(scan);
}

}  // namespace

const VerifyPending* VerifyScan::pending_on(Side side, FolderId id) const {
  const auto& table = pending[static_cast<std::size_t>(side)];
  const auto found = table.find(id);
  return found == table.end() ? nullptr : &found->second;
}

void VerifyScan::problem(unsigned invariant, std::string text) {
  if (report.problems.size() >= kProblemsMax) return;
  report.problems.push_back("M" + std::to_string(invariant) + ": " + std::move(text));
}

Status VerifyScan::problem_if_corrupt(const Status& status, std::string_view what) {
  if (status.code() != Code::corrupt) return status;
  problem(1, std::string(what) + " is damaged: " + status.message());
  return {};
}

void VerifyScan::add(const Tallies& tallies) {
  for (const auto& [key, count] : tallies) counted[key] += count;
}

Status each_row(kv::Reader& reader, kv::Range range,
                const std::function<Status(const kv::KeyValue& row)>& visit) {
  for (;;) {
    SLUICE_LET(page, reader.scan(range, {.limit = kPageRows}));
    for (const kv::KeyValue& row : page) SLUICE_TRY(visit(row));
    if (page.size() < kPageRows) return {};
    range.begin = page.back().key + '\0';
  }
}

std::uint64_t name_hash(std::string_view name) {
  return std::hash<std::string_view>()(name);
}

std::string directory_text(FolderId id) {
  return "directory " + std::to_string(id);
}

Result<VerifyReport> verify(kv::Store& store) {
  VerifyReport report;
  SLUICE_TRY(store.read(
      [&](kv::Reader& reader) -> Status {
        report = {};
        VerifyScan scan{.reader = reader, .report = report};
        return verify_all(scan);
      },
      {.unbounded = true}));
  return report;
}

}  // namespace sluice::migrate
