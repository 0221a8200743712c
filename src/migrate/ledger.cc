// SPDX-License-Identifier: MIT
#include "migrate/ledger.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace sluice::migrate {
namespace {

constexpr char kPut = 'p';
constexpr char kErase = 'e';
constexpr char kEraseRange = 'r';
/// Of the change that the usual directory makes.
constexpr std::size_t kUsualBytes = 1'000;

template <class T, class Decode>
Result<std::optional<T>> read_record(kv::Reader& reader, std::string_view key, Decode decode) {
  Result<std::optional<T>> found(std::optional<T>{});
  SLUICE_LET(there, reader.visit(key, [&](std::string_view value) {
    auto record = decode(value);
    if (record)
      found = std::move(*record);
    else
      found = Failure{record.error()};
  }));
  (void)there;
  return found;
}

}  // namespace

std::string_view status_name(TraversalStatus status) {
  switch (status) {
    case TraversalStatus::pending:
      return "pending";
    case TraversalStatus::successful:
      return "successful";
    case TraversalStatus::failed:
      return "failed";
    case TraversalStatus::not_on_src:
      return "not_on_src";
    case TraversalStatus::excluded:
      return "excluded";
    case TraversalStatus::unknown:
      return "unknown";
  }
  return "";
}

std::string_view status_name(CopyStatus status) {
  switch (status) {
    case CopyStatus::pending:
      return "pending";
    case CopyStatus::successful:
      return "successful";
    case CopyStatus::skipped:
      return "skipped";
    case CopyStatus::failed:
      return "failed";
    case CopyStatus::in_progress:
      return "in-progress";
  }
  return "";
}

std::vector<std::string> differences(const Settings& kept, const Settings& wanted) {
  std::vector<std::string> found;
  const auto text = [&](std::string_view name, const std::string& a, const std::string& b) {
    if (a != b) found.push_back(std::string(name) + ": " + a + " in the ledger, " + b + " now");
  };
  const auto flag = [&](std::string_view name, bool a, bool b) {
    text(name, a ? "on" : "off", b ? "on" : "off");
  };
  text("the source", kept.src, wanted.src);
  text("the destination", kept.dst, wanted.dst);
  flag("--size-only", kept.rules.size_only, wanted.rules.size_only);
  flag("--checksum", kept.rules.checksum, wanted.rules.checksum);
  flag("--no-owner", !kept.rules.owners, !wanted.rules.owners);
  flag("--no-mode", !kept.rules.modes, !wanted.rules.modes);
  flag("--one-file-system", kept.one_file_system, wanted.one_file_system);
  text("--mtime-window", std::to_string(kept.rules.window_ns) + "ns",
       std::to_string(wanted.rules.window_ns) + "ns");
  text("--newer", kept.rules.newer == NewerPolicy::keep ? "keep" : "overwrite",
       wanted.rules.newer == NewerPolicy::keep ? "keep" : "overwrite");
  const auto listed = [](const std::vector<std::string>& filters) {
    std::string all;
    for (const std::string& filter : filters) all += (all.empty() ? "" : ", ") + filter;
    return all.empty() ? std::string("none") : all;
  };
  text("--exclude", listed(kept.filters), listed(wanted.filters));
  return found;
}

// ---------------------------------------------------------------------------------------- changes

void Change::append(char what, std::string_view first, std::string_view second) {
  const auto number = [&](std::size_t size) {
    const auto narrow = static_cast<std::uint32_t>(size);
    char bytes[sizeof narrow];
    std::memcpy(bytes, &narrow, sizeof narrow);
    text_.append(bytes, sizeof narrow);
  };
  if (text_.empty()) text_.reserve(kUsualBytes);
  text_.push_back(what);
  number(first.size());
  number(second.size());
  text_.append(first).append(second);
}

void Change::put(std::string_view key, std::string_view value) {
  append(kPut, key, value);
}

void Change::erase(std::string_view key) {
  append(kErase, key, {});
}

void Change::erase_range(const kv::Range& range) {
  append(kEraseRange, range.begin, range.end);
}

void Change::move_to(Change& all) {
  all.text_.append(text_);
  all.add(tallies_, 1);
  clear();
}

void Change::apply(kv::Transaction& txn) const {
  std::string_view rest = text_;
  const auto take = [&](std::size_t size) {
    SLUICE_CHECK(rest.size() >= size);
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  };
  const auto number = [&] {
    std::uint32_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  };
  while (!rest.empty()) {
    const char what = take(1).front();
    const std::uint32_t first_size = number();
    const std::uint32_t second_size = number();
    const std::string_view first = take(first_size);
    const std::string_view second = take(second_size);
    if (what == kPut)
      txn.put(first, second);
    else if (what == kErase)
      txn.erase(first);
    else
      txn.erase_range({.begin = std::string(first), .end = std::string(second)});
  }
}

Status write(kv::Store& store, const Change& change) {
  return status_of(store.run([&](kv::Transaction& txn) -> Status {
    change.apply(txn);
    for (const auto& [key, delta] : change.tallies()) txn.add(keys::tally(key), delta);
    return {};
  }));
}

// ---------------------------------------------------------------------------------------- reading

Result<std::optional<Folder>> read_folder(kv::Reader& reader, Side side, FolderId id) {
  return read_record<Folder>(reader, keys::folder(side, id), decode_folder);
}

Result<std::optional<FolderPlace>> read_folder_place(kv::Reader& reader, FolderId id) {
  return read_record<FolderPlace>(reader, keys::folder(Side::src, id), decode_folder_place);
}

Result<std::optional<FolderBlock>> read_folder_block(kv::Reader& reader, Side side, FolderId id) {
  return read_record<FolderBlock>(reader, keys::folder(side, id), decode_folder_block);
}

Status each_folder(kv::Store& store, Side side,
                   const std::function<void(FolderId id, const Folder& folder)>& visit) {
  constexpr std::size_t kPage = 4'096;
  kv::Range range = keys::folders_of(side);
  for (;;) {
    std::vector<kv::KeyValue> page;
    SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(some, reader.scan(range, {.limit = kPage}));
      page = std::move(some);
      return {};
    }));
    for (const kv::KeyValue& row : page) {
      SLUICE_LET(id, keys::parse_folder(row.key));
      SLUICE_LET(folder, decode_folder(row.value));
      if (id != kAboveRoot) visit(id, folder);
    }
    if (page.size() < kPage) return {};
    range.begin = page.back().key + '\0';
  }
}

Result<std::optional<PendingFolder>> read_pending(kv::Reader& reader, Side side,
                                                  std::uint32_t level, FolderId id) {
  return read_record<PendingFolder>(reader, keys::pending(side, level, id), decode_pending);
}

Result<bool> is_pending(kv::Reader& reader) {
  for (const Side side : {Side::src, Side::dst}) {
    SLUICE_LET(some, reader.scan(keys::pending_of(side), {.limit = 1}));
    if (!some.empty()) return true;
  }
  return false;
}

Result<std::optional<Settings>> read_settings(kv::Reader& reader) {
  return read_record<Settings>(reader, keys::settings(), decode_settings);
}

Result<State> read_state(kv::Reader& reader) {
  SLUICE_LET(state, read_record<State>(reader, keys::state(), decode_state));
  return state.value_or(State{});
}

Result<Tallies> read_tallies(kv::Reader& reader) {
  Tallies tallies;
  Status status;
  SLUICE_TRY(reader.scan(keys::tallies(), {}, [&](std::string_view key, std::string_view value) {
    const auto parsed = keys::parse_tally(key);
    const auto count = kv::decode_counter(std::string(value));
    status = parsed ? status_of(count) : parsed.error();
    if (status.ok() && *count != 0) tallies[*parsed] = *count;
    return status.ok();
  }));
  if (!status.ok()) return Failure{status};
  return tallies;
}

std::string join_path(std::string_view folder, std::string_view name) {
  std::string path;
  path.reserve(folder.size() + 1 + name.size());
  path += folder;
  if (!path.empty() && !name.empty()) path += '/';
  return path += name;
}

Result<std::string> read_path(kv::Reader& reader, FolderId parent, std::string_view name) {
  std::vector<std::string> names{std::string(name)};
  for (FolderId id = parent; id != kAboveRoot && id != kRoot;) {
    SLUICE_LET(place, read_folder_place(reader, id));
    if (!place || place->parent >= id)
      return error(Code::corrupt, "a directory of the ledger has no parent");
    names.push_back(std::move(place->name));
    id = place->parent;
  }
  std::string path;
  for (std::size_t i = names.size(); i-- > 0;) path = join_path(path, names[i]);
  return path;
}

}  // namespace sluice::migrate
