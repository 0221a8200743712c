// SPDX-License-Identifier: MIT
#include "codec/tuple.h"
#include "migrate/ledger.h"

namespace sluice::migrate::keys {
namespace {

using codec::NumberTuple;
using codec::TupleReader;

// The first element of every key. Stored: a number that is no longer used is never used again.
enum Kind : std::uint8_t {
  kSettings = 1,
  kState = 2,
  kFolder = 3,
  kPending = 4,
  kTally = 5,
  kChunk = 6,
  kWork = 7,
  kExclusion = 8,
  kDrop = 9,
  kLink = 10,
};

NumberTuple begin(Kind kind) {
  return NumberTuple().number(static_cast<std::uint8_t>(kind));
}

template <class E>
std::uint8_t number_of(E value) {
  return static_cast<std::uint8_t>(value);
}

kv::Range below(std::string_view prefix) {
  codec::TupleRange range = codec::extensions_of(prefix);
  return {.begin = std::move(range.begin), .end = std::move(range.end)};
}

Result<TupleReader> read(std::string_view key, Kind kind) {
  TupleReader reader(key);
  SLUICE_LET(found, reader.number<std::uint8_t>());
  if (found != kind) return error(Code::corrupt, "a key of the ledger is of another kind");
  return reader;
}

template <class E>
Result<E> read_enum(TupleReader& reader, std::uint8_t most) {
  SLUICE_LET(value, reader.number<std::uint8_t>());
  if (value > most) return error(Code::corrupt, "a key of the ledger has an unknown number");
  return static_cast<E>(value);
}

}  // namespace

NumberTuple settings() {
  return begin(kSettings);
}

NumberTuple state() {
  return begin(kState);
}

NumberTuple folder(Side side, FolderId id) {
  return begin(kFolder).number(number_of(side)).number(id);
}

kv::Range folders_of(Side side) {
  return below(begin(kFolder).number(number_of(side)));
}

NumberTuple pending(Side side, std::uint32_t level, FolderId id) {
  return begin(kPending).number(number_of(side)).number(level).number(id);
}

kv::Range pending_of(Side side) {
  return below(begin(kPending).number(number_of(side)));
}

NumberTuple tally(const TallyKey& key) {
  return begin(kTally).number(number_of(key.what)).number(key.level).number(key.which);
}

kv::Range tallies() {
  return below(begin(kTally));
}

NumberTuple chunk(Part part, FolderId id, std::uint32_t generation, std::uint64_t number) {
  return begin(kChunk).number(number_of(part)).number(id).number(generation).number(number);
}

kv::Range chunks_of(Part part, FolderId id, std::uint32_t generation) {
  return below(begin(kChunk).number(number_of(part)).number(id).number(generation));
}

kv::Range chunks_of(Part part, FolderId id) {
  return below(begin(kChunk).number(number_of(part)).number(id));
}

kv::Range chunks_of(Part part) {
  return below(begin(kChunk).number(number_of(part)));
}

NumberTuple work(const WorkKey& key) {
  return begin(kWork)
      .number(number_of(key.pass))
      .number(key.level)
      .number(key.id)
      .number(key.chunk);
}

kv::Range work_of(Pass pass) {
  return below(begin(kWork).number(number_of(pass)));
}

kv::Range work_of(Pass pass, std::uint32_t level, FolderId id) {
  return below(begin(kWork).number(number_of(pass)).number(level).number(id));
}

std::string exclusion(FolderId folder, std::string_view name) {
  return codec::TupleWriter(begin(kExclusion).number(folder)).string(name).take();
}

kv::Range exclusions() {
  return below(begin(kExclusion));
}

NumberTuple link(std::uint64_t device, std::uint64_t inode) {
  return begin(kLink).number(device).number(inode);
}

kv::Range links() {
  return below(begin(kLink));
}

NumberTuple drop(FolderId id) {
  return begin(kDrop).number(id);
}

kv::Range drops() {
  return below(begin(kDrop));
}

Result<FolderId> parse_folder(std::string_view key) {
  SLUICE_LET(reader, read(key, kFolder));
  SLUICE_TRY(read_enum<Side>(reader, 1));
  SLUICE_LET(id, reader.number<FolderId>());
  SLUICE_TRY(reader.finish());
  return id;
}

Result<PendingKey> parse_pending(std::string_view key) {
  SLUICE_LET(reader, read(key, kPending));
  SLUICE_TRY(read_enum<Side>(reader, 1));
  SLUICE_LET(level, reader.number<std::uint32_t>());
  SLUICE_LET(id, reader.number<FolderId>());
  SLUICE_TRY(reader.finish());
  return PendingKey{.level = level, .id = id};
}

Result<TallyKey> parse_tally(std::string_view key) {
  SLUICE_LET(reader, read(key, kTally));
  SLUICE_LET(what, read_enum<Tally>(reader, number_of(Tally::dst_bytes)));
  SLUICE_LET(level, reader.number<std::uint32_t>());
  SLUICE_LET(which, reader.number<std::uint8_t>());
  SLUICE_TRY(reader.finish());
  return TallyKey{.what = what, .level = level, .which = which};
}

Result<ChunkKey> parse_chunk(std::string_view key) {
  SLUICE_LET(reader, read(key, kChunk));
  SLUICE_TRY(read_enum<Part>(reader, number_of(Part::runs)));
  SLUICE_LET(id, reader.number<FolderId>());
  SLUICE_LET(generation, reader.number<std::uint32_t>());
  SLUICE_LET(number, reader.number<std::uint32_t>());
  SLUICE_TRY(reader.finish());
  return ChunkKey{.id = id, .generation = generation, .number = number};
}

Result<WorkKey> parse_work(std::string_view key) {
  SLUICE_LET(reader, read(key, kWork));
  SLUICE_LET(pass, read_enum<Pass>(reader, kPasses - 1));
  SLUICE_LET(level, reader.number<std::uint32_t>());
  SLUICE_LET(id, reader.number<FolderId>());
  SLUICE_LET(chunk, reader.number<std::uint32_t>());
  SLUICE_TRY(reader.finish());
  return WorkKey{.pass = pass, .level = level, .id = id, .chunk = chunk};
}

Result<FolderId> parse_drop(std::string_view key) {
  SLUICE_LET(reader, read(key, kDrop));
  SLUICE_LET(id, reader.number<FolderId>());
  SLUICE_TRY(reader.finish());
  return id;
}

Result<ExclusionKey> parse_exclusion(std::string_view key) {
  SLUICE_LET(reader, read(key, kExclusion));
  SLUICE_LET(folder, reader.number<FolderId>());
  SLUICE_LET(name, reader.string());
  SLUICE_TRY(reader.finish());
  return ExclusionKey{.folder = folder, .name = std::move(name)};
}

}  // namespace sluice::migrate::keys
