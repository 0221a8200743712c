// SPDX-License-Identifier: MIT
#include "migrate/exclude.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "migrate/folder_task.h"
#include "migrate/ledger.h"
#include "migrate/plan.h"
#include "migrate/retry.h"
#include "migrate/walk.h"

namespace sluice::migrate {
namespace {

struct Found {
  keys::ExclusionKey key;
  Exclusion exclusion;
};

Result<std::vector<Found>> read_all(kv::Reader& reader) {
  std::vector<Found> all;
  SLUICE_LET(rows, reader.scan(keys::exclusions()));
  for (const kv::KeyValue& row : rows) {
    SLUICE_LET(key, keys::parse_exclusion(row.key));
    SLUICE_LET(exclusion, decode_exclusion(row.value));
    all.push_back({.key = std::move(key), .exclusion = std::move(exclusion)});
  }
  return all;
}

/// What the counters move by when one thing changes its status. Nothing if it has it already.
template <class E>
void move(Tallies& moved, TallyKey from, E to, std::uint64_t amount) {
  TallyKey into = from;
  into.which = static_cast<std::uint8_t>(to);
  if (into == from || amount == 0) return;
  moved[from] -= static_cast<std::int64_t>(amount);
  moved[into] += static_cast<std::int64_t>(amount);
}

template <class E>
TallyKey key_of(Tally what, const WalkItem& item, E which) {
  return {.what = what, .level = item.level, .which = static_cast<std::uint8_t>(which)};
}

/// Takes one name out of the counters, where it is counted: by itself or by its parent.
void take_out(Tallies& moved, const WalkItem& item) {
  const auto leave = [&](Tally what, std::optional<TraversalStatus> status) {
    if (status) move(moved, key_of(what, item, *status), TraversalStatus::excluded, 1);
  };
  if (item.src_folder != nullptr)
    leave(Tally::src, item.src_folder->status);
  else if (item.src != nullptr)
    leave(Tally::src, status_on_src(*item.src));
  if (item.dst_folder != nullptr) leave(Tally::dst, counted_as(Side::dst, *item.dst_folder));
  leave(Tally::dst, counted_in_parent(item.src, item.dst));
  if (item.src == nullptr || item.copy != CopyStatus::pending) return;
  const Tally names = item.src->kind == Kind::folder ? Tally::copy_folders : Tally::copy_files;
  move(moved, key_of(names, item, item.copy), CopyStatus::skipped, 1);
  if (item.found.verdict != Verdict::attributes)
    move(moved, key_of(Tally::copy_bytes, item, item.copy), CopyStatus::skipped, item.src->size);
}

bool is_at_or_below(std::string_view path, std::string_view above) {
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

Status check(const std::vector<Found>& others, const std::string& path) {
  for (const Found& other : others) {
    const std::string& excluded = other.exclusion.path;
    if (is_at_or_below(path, excluded))
      return {Code::already_exists, "'" + excluded + "' is excluded already"};
    if (is_at_or_below(excluded, path))
      return {Code::conflict,
              "'" + excluded + "' in it is excluded; include that first, then exclude all of it"};
  }
  return {};
}

Status check_finished(kv::Reader& reader) {
  SLUICE_LET(pending, is_pending(reader));
  if (!pending) return {};
  return {Code::conflict, "the comparison is not finished; run it again first, then exclude"};
}

/// In the same transaction: the counters, and the record that can take them back.
Status write(kv::Transaction& txn, const keys::ExclusionKey& key, Exclusion exclusion) {
  SLUICE_TRY(check_finished(txn));
  SLUICE_LET(others, read_all(txn));
  SLUICE_TRY(check(others, exclusion.path));
  exclusion.made.clear();
  for (const auto& [tally, delta] : exclusion.moved) {
    SLUICE_LET(count, txn.get(keys::tally(tally)));
    const bool made = !count || std::ranges::any_of(others, [&](const Found& other) {
      return other.exclusion.made.contains(tally);
    });
    if (made) exclusion.made.insert(tally);
    txn.add(keys::tally(tally), delta);
  }
  txn.put(keys::exclusion(key.folder, key.name), encode(exclusion));
  return {};
}

Status take_back(kv::Transaction& txn, const Found& found) {
  for (const auto& [tally, delta] : found.exclusion.moved) {
    const codec::NumberTuple key = keys::tally(tally);
    txn.add(key, -delta);
    if (!found.exclusion.made.contains(tally)) continue;
    SLUICE_LET(value, txn.get(key));
    SLUICE_LET(count, kv::decode_counter(value));
    if (count == 0) txn.erase(key);
  }
  txn.erase(keys::exclusion(found.key.folder, found.key.name));
  return {};
}

}  // namespace

Status exclude(kv::Store& store, std::string_view path) {
  if (path.empty() || path == ".")
    return {Code::invalid_argument, "the root cannot be excluded: nothing would be left"};
  Exclusion exclusion{.path = std::string(path)};
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_TRY(check_finished(reader));
    SLUICE_LET(others, read_all(reader));
    return check(others, exclusion.path);
  }));
  SLUICE_TRY(walk(store, {.under = exclusion.path}, [&](const WalkItem& item) {
    take_out(exclusion.moved, item);
    return true;
  }));
  exclusion.moved.erase_if([](const auto& tally) { return tally.second == 0; });

  const std::size_t slash = path.rfind('/');
  const bool nested = slash != std::string_view::npos;
  SLUICE_LET(folder, find_folder(store, nested ? path.substr(0, slash) : std::string_view()));
  if (!folder) return {Code::not_found, "the ledger knows nothing at '" + exclusion.path + "'"};
  const keys::ExclusionKey key{.folder = *folder,
                               .name = std::string(nested ? path.substr(slash + 1) : path)};
  return status_of(store.run([&](kv::Transaction& txn) { return write(txn, key, exclusion); }));
}

Status include(kv::Store& store, std::string_view path) {
  return status_of(store.run([&](kv::Transaction& txn) -> Status {
    SLUICE_LET(all, read_all(txn));
    for (const Found& found : all)
      if (found.exclusion.path == path) return take_back(txn, found);
    return {Code::not_found, "'" + std::string(path) + "' is not excluded"};
  }));
}

Result<std::vector<std::string>> excluded_paths(kv::Store& store) {
  std::vector<std::string> paths;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    paths.clear();
    SLUICE_LET(all, read_all(reader));
    for (Found& found : all) paths.push_back(std::move(found.exclusion.path));
    return {};
  }));
  std::ranges::sort(paths);
  return paths;
}

}  // namespace sluice::migrate
