// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codec/record.h"
#include "codec/tuple.h"
#include "migrate/ledger.h"

namespace sluice::migrate {
namespace {

using codec::RecordFormat;
using codec::RecordReader;
using codec::RecordWriter;

// 40 is a chunk's.
constexpr RecordFormat kFolderFormat{.type = 41, .major = 1, .minor = 0, .field_max = 14};
constexpr RecordFormat kPendingFormat{.type = 42, .major = 1, .minor = 0, .field_max = 9};
constexpr RecordFormat kSettingsFormat{.type = 43, .major = 1, .minor = 0, .field_max = 11};
constexpr RecordFormat kStateFormat{.type = 44, .major = 1, .minor = 0, .field_max = 5};

constexpr RecordFormat kExclusionFormat{.type = 45, .major = 1, .minor = 0, .field_max = 3};

/// One tuple of them all. As most of a directory's record is this, it is made of pieces that need
/// no memory of their own.
std::string pack(const Tallies& tallies) {
  std::string packed;
  packed.reserve(tallies.size() * 10);
  for (const auto& [key, count] : tallies) {
    codec::NumberTuple numbers;
    numbers.number(static_cast<std::uint8_t>(key.what)).number(key.level).number(key.which);
    if (count >= 0) numbers.number(static_cast<std::uint64_t>(count));
    packed.append(numbers);
    if (count < 0) packed.append(codec::TupleWriter().number(count).take());
  }
  return packed;
}

Result<Tallies> unpack_tallies(std::string_view bytes) {
  Tallies tallies;
  codec::TupleReader reader(bytes);
  for (;;) {
    SLUICE_LET(kind, reader.peek());
    if (kind == codec::TupleKind::end) break;
    SLUICE_LET(what, reader.number<std::uint8_t>());
    SLUICE_LET(level, reader.number<std::uint32_t>());
    SLUICE_LET(which, reader.number<std::uint8_t>());
    SLUICE_LET(count, reader.number<std::int64_t>());
    tallies[{.what = static_cast<Tally>(what), .level = level, .which = which}] = count;
  }
  return tallies;
}

template <class E>
Result<E> enum_or(const RecordReader& record, unsigned field, E absent, E most) {
  SLUICE_LET(value, record.u64_or(field, static_cast<std::uint64_t>(absent)));
  if (value > static_cast<std::uint64_t>(most))
    return error(Code::corrupt, "a record of the ledger has an unknown number");
  return static_cast<E>(value);
}

template <class T>
Result<T> narrow(const RecordReader& record, unsigned field) {
  SLUICE_LET(value, record.u64_or(field, 0));
  if (value > std::numeric_limits<T>::max())
    return error(Code::corrupt, "a number in a record of the ledger is too high");
  return static_cast<T>(value);
}

/// Fields that hold their default are left out: most directories have most of them.
class Sparse {
 public:
  Sparse(const RecordFormat& format, std::size_t bytes) : writer_(format, bytes) {}
  Sparse& number(unsigned field, std::uint64_t value) {
    if (value != 0) writer_.field(field, value);
    return *this;
  }
  Sparse& text(unsigned field, std::string_view value) {
    if (!value.empty()) writer_.field(field, value);
    return *this;
  }
  RecordWriter& writer() { return writer_; }
  std::string finish() { return writer_.finish(); }

 private:
  RecordWriter writer_;
};

constexpr RecordFormat kLinkFormat{.type = 46, .major = 1, .minor = 0, .field_max = 2};

}  // namespace

std::string encode(const LinkPlace& place) {
  return Sparse(kLinkFormat, 96).number(1, place.folder).text(2, place.name).finish();
}

Result<LinkPlace> decode_link(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kLinkFormat));
  SLUICE_LET(folder, record.u64_or(1, 0));
  SLUICE_LET(name, record.bytes_or(2, ""));
  return LinkPlace{.folder = folder, .name = std::string(name)};
}

std::string encode(const Folder& folder) {
  return Sparse(kFolderFormat, 160)
      .number(1, folder.parent)
      .text(2, folder.name)
      .number(3, folder.level)
      .number(4, static_cast<std::uint8_t>(folder.status))
      .number(5, static_cast<std::uint8_t>(folder.presence))
      .number(6, folder.generation)
      .number(7, folder.chunks)
      .number(8, folder.entries)
      .number(9, folder.attempts)
      .number(10, folder.error)
      .number(11, folder.changed ? 1 : 0)
      .text(12, pack(folder.tallies))
      .number(13, folder.set_attributes ? 1 : 0)
      .number(14, static_cast<std::uint8_t>(folder.relist))
      .finish();
}

Result<Folder> decode_folder(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kFolderFormat));
  Folder folder;
  SLUICE_LET(parent, record.u64_or(1, 0));
  SLUICE_LET(name, record.bytes_or(2, ""));
  SLUICE_LET(level, narrow<std::uint32_t>(record, 3));
  SLUICE_LET(status, enum_or(record, 4, TraversalStatus::pending, TraversalStatus::unknown));
  SLUICE_LET(presence, enum_or(record, 5, Presence::present, Presence::unknown));
  SLUICE_LET(generation, narrow<std::uint32_t>(record, 6));
  SLUICE_LET(chunks, narrow<std::uint32_t>(record, 7));
  SLUICE_LET(entries, record.u64_or(8, 0));
  SLUICE_LET(attempts, narrow<std::uint32_t>(record, 9));
  SLUICE_LET(errno_, narrow<std::uint32_t>(record, 10));
  SLUICE_LET(changed, record.u64_or(11, 0));
  SLUICE_LET(packed, record.bytes_or(12, ""));
  SLUICE_LET(tallies, unpack_tallies(packed));
  SLUICE_LET(set_attributes, record.u64_or(13, 0));
  SLUICE_LET(relist, enum_or(record, 14, Relist::no, Relist::itself));
  return Folder{.parent = parent,
                .name = std::string(name),
                .level = level,
                .status = status,
                .presence = presence,
                .generation = generation,
                .chunks = chunks,
                .entries = entries,
                .attempts = attempts,
                .error = errno_,
                .changed = changed != 0,
                .set_attributes = set_attributes != 0,
                .relist = relist,
                .tallies = std::move(tallies)};
}

Result<FolderPlace> decode_folder_place(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kFolderFormat));
  SLUICE_LET(parent, record.u64_or(1, 0));
  SLUICE_LET(name, record.bytes_or(2, ""));
  return FolderPlace{.parent = parent, .name = std::string(name)};
}

Result<FolderBlock> decode_folder_block(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kFolderFormat));
  SLUICE_LET(status, enum_or(record, 4, TraversalStatus::pending, TraversalStatus::unknown));
  SLUICE_LET(generation, narrow<std::uint32_t>(record, 6));
  SLUICE_LET(chunks, narrow<std::uint32_t>(record, 7));
  return FolderBlock{.status = status, .generation = generation, .chunks = chunks};
}

std::string encode(const PendingFolder& pending) {
  Sparse record(kPendingFormat, 96);
  record.number(1, pending.parent)
      .text(2, pending.name)
      .number(3, static_cast<std::uint8_t>(pending.presence))
      .number(4, pending.generation)
      .number(5, pending.attempts)
      .number(6, pending.error);
  if (pending.expanded) record.writer().field(7, std::string_view(*pending.expanded));
  record.number(8, pending.set_attributes ? 1 : 0).number(9, pending.shallow ? 1 : 0);
  return record.finish();
}

Result<PendingFolder> decode_pending(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kPendingFormat));
  SLUICE_LET(parent, record.u64_or(1, 0));
  SLUICE_LET(name, record.bytes_or(2, ""));
  SLUICE_LET(presence, enum_or(record, 3, Presence::present, Presence::unknown));
  SLUICE_LET(generation, narrow<std::uint32_t>(record, 4));
  SLUICE_LET(attempts, narrow<std::uint32_t>(record, 5));
  SLUICE_LET(errno_, narrow<std::uint32_t>(record, 6));
  SLUICE_LET(set_attributes, record.u64_or(8, 0));
  SLUICE_LET(shallow, record.u64_or(9, 0));
  PendingFolder pending{.parent = parent,
                        .name = std::string(name),
                        .presence = presence,
                        .generation = generation,
                        .attempts = attempts,
                        .error = errno_,
                        .set_attributes = set_attributes != 0,
                        .shallow = shallow != 0};
  if (record.has(7)) {
    SLUICE_LET(expanded, record.bytes(7));
    pending.expanded = std::string(expanded);
  }
  return pending;
}

std::string encode(const Settings& settings) {
  codec::TupleWriter filters;
  for (const std::string& filter : settings.filters) filters.string(filter);
  return Sparse(kSettingsFormat, 320)
      .text(1, settings.src)
      .text(2, settings.dst)
      .number(3, settings.rules.size_only ? 1 : 0)
      .number(4, settings.rules.checksum ? 1 : 0)
      .number(5, settings.rules.owners ? 1 : 0)
      .number(6, settings.rules.modes ? 1 : 0)
      .number(7, settings.rules.times ? 1 : 0)
      .number(8, static_cast<std::uint64_t>(settings.rules.window_ns))
      .number(9, static_cast<std::uint8_t>(settings.rules.newer))
      .text(10, filters.take())
      .number(11, settings.one_file_system ? 1 : 0)
      .finish();
}

Result<Settings> decode_settings(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kSettingsFormat));
  Settings settings;
  SLUICE_LET(src, record.bytes_or(1, ""));
  SLUICE_LET(dst, record.bytes_or(2, ""));
  settings.src = src;
  settings.dst = dst;
  const auto flag = [&](unsigned field, bool& into) -> Status {
    SLUICE_LET(value, record.u64_or(field, 0));
    into = value != 0;
    return {};
  };
  SLUICE_TRY(flag(3, settings.rules.size_only));
  SLUICE_TRY(flag(4, settings.rules.checksum));
  SLUICE_TRY(flag(5, settings.rules.owners));
  SLUICE_TRY(flag(6, settings.rules.modes));
  SLUICE_TRY(flag(7, settings.rules.times));
  SLUICE_LET(window, record.u64_or(8, 0));
  settings.rules.window_ns = static_cast<std::int64_t>(window);
  SLUICE_LET(newer, enum_or(record, 9, NewerPolicy::overwrite, NewerPolicy::keep));
  settings.rules.newer = newer;
  SLUICE_LET(packed, record.bytes_or(10, ""));
  codec::TupleReader filters(packed);
  for (;;) {
    SLUICE_LET(kind, filters.peek());
    if (kind == codec::TupleKind::end) break;
    SLUICE_LET(filter, filters.string());
    settings.filters.push_back(std::move(filter));
  }
  SLUICE_TRY(flag(11, settings.one_file_system));
  return settings;
}

std::string encode(const Exclusion& exclusion) {
  Tallies made;
  for (const TallyKey& key : exclusion.made) made[key] = 0;
  return Sparse(kExclusionFormat, 320)
      .text(1, exclusion.path)
      .text(2, pack(exclusion.moved))
      .text(3, pack(made))
      .finish();
}

Result<Exclusion> decode_exclusion(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kExclusionFormat));
  SLUICE_LET(path, record.bytes_or(1, ""));
  SLUICE_LET(moved, record.bytes_or(2, ""));
  SLUICE_LET(made, record.bytes_or(3, ""));
  SLUICE_LET(tallies, unpack_tallies(moved));
  SLUICE_LET(made_keys, unpack_tallies(made));
  Exclusion exclusion{.path = std::string(path), .moved = std::move(tallies)};
  for (const auto& [key, count] : made_keys) exclusion.made.insert(key);
  return exclusion;
}

std::string encode(const State& state) {
  return Sparse(kStateFormat, 64)
      .number(1, state.next_id)
      .number(2, state.sweep)
      .number(3, state.deleted)
      .number(4, state.copy_begun ? 1 : (state.copied ? 2 : 0))
      .number(5, state.drifted)
      .finish();
}

Result<State> decode_state(std::string_view bytes) {
  SLUICE_LET(record, RecordReader::open(bytes, kStateFormat));
  SLUICE_LET(next_id, record.u64_or(1, 0));
  SLUICE_LET(sweep, narrow<std::uint32_t>(record, 2));
  SLUICE_LET(deleted, record.u64_or(3, 0));
  SLUICE_LET(begun, record.u64_or(4, 0));
  SLUICE_LET(drifted, record.u64_or(5, 0));
  return State{.next_id = next_id,
               .sweep = sweep,
               .deleted = deleted,
               .copy_begun = begun == 1,
               .copied = begun != 0,
               .drifted = drifted};
}

}  // namespace sluice::migrate
