// SPDX-License-Identifier: MIT
#include "migrate/stream.h"

#include <algorithm>
#include <utility>

namespace sluice::migrate {
namespace {

/// Half of what a transaction may hold, with what it counts for keys.
constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
/// Of a listing in memory, which takes more than the block that is made of it: so much is one
/// change, if it has to be.
constexpr std::size_t kOneChangeBytesMax = std::size_t{4} << 20;

Result<std::string> read_chunk(kv::Store& store, std::string_view key) {
  std::optional<std::string> chunk;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, reader.get(key));
    chunk = std::move(found);
    return {};
  }));
  if (!chunk) return error(Code::corrupt, "a chunk of a directory is missing in the ledger");
  return std::move(*chunk);
}

}  // namespace

Result<const Entry*> ListingStream::next() {
  while (at_ < listing_.size()) {
    const Entry* entry = &listing_.at(at_++);
    // The kernel may tell a name twice while the directory changes.
    if (last_ != nullptr && entry->name == last_->name) continue;
    last_ = entry;
    return entry;
  }
  return nullptr;
}

// ----------------------------------------------------------------------------------------- blocks

BlockStream::BlockStream(kv::Store& store, const Block& block, std::string first_chunk)
    : store_(store), block_(block), chunk_(std::move(first_chunk)) {}

Status BlockStream::open_chunk() {
  if (next_chunk_ != 0 || chunk_.empty()) {
    SLUICE_LET(chunk, read_chunk(store_, keys::chunk(block_.part, block_.id, block_.generation,
                                                     next_chunk_)));
    chunk_ = std::move(chunk);
  }
  ++next_chunk_;
  SLUICE_LET(reader, ChunkReader::open(chunk_));
  reader_ = std::move(reader);
  return {};
}

void BlockStream::seek(std::uint32_t chunk) {
  next_chunk_ = chunk;
  chunk_.clear();
  reader_.reset();
}

Result<FoundEntry> find_entry(kv::Store& store, const BlockStream::Block& block,
                              std::string_view name) {
  FoundEntry found{.stream = std::make_unique<BlockStream>(store, block)};
  // The last chunk whose first name is not after the one that is looked for.
  std::uint32_t first = 0;
  for (std::uint32_t end = block.chunks; end - first > 1;) {
    const std::uint32_t middle = first + (end - first) / 2;
    found.stream->seek(middle);
    SLUICE_LET(entry, found.stream->next());
    (entry != nullptr && entry->name <= name ? first : end) = middle;
  }
  found.stream->seek(first);
  for (;;) {
    SLUICE_LET(entry, found.stream->next());
    if (entry == nullptr || entry->name > name) return found;
    if (entry->name != name) continue;
    found.entry = entry;
    return found;
  }
}

Result<const Entry*> BlockStream::next() {
  for (;;) {
    if (reader_) {
      SLUICE_LET(entry, reader_->next());
      if (entry != nullptr) return entry;
      reader_.reset();
    }
    if (next_chunk_ == block_.chunks) return nullptr;
    SLUICE_TRY(open_chunk());
  }
}

Result<const Entry*> ChunkStream::next() {
  if (!reader_) {
    SLUICE_LET(reader, ChunkReader::open(bytes_));
    reader_ = std::move(reader);
  }
  return reader_->next();
}

Result<std::unique_ptr<EntryStream>> copied_in(kv::Reader& reader, FolderId id) {
  SLUICE_LET(rows, reader.scan(keys::chunks_of(Part::copied, id)));
  std::vector<std::unique_ptr<EntryStream>> streams;
  for (kv::KeyValue& row : rows)
    streams.push_back(std::make_unique<ChunkStream>(std::move(row.value)));
  return std::unique_ptr<EntryStream>(new MergeStream(std::move(streams)));
}

// ------------------------------------------------------------------------------------------ merge

namespace {

/// For a heap whose front is the least.
constexpr auto kLater = [](const auto& a, const auto& b) { return a.entry->name > b.entry->name; };

}  // namespace

MergeStream::MergeStream(std::vector<std::unique_ptr<EntryStream>> streams)
    : streams_(std::move(streams)) {}

Status MergeStream::advance(std::size_t index) {
  Head head = heads_[index];
  SLUICE_LET(entry, head.stream->next());
  if (entry == nullptr) {
    heads_.pop_back();
    return {};
  }
  heads_[index].entry = entry;
  std::ranges::push_heap(heads_, kLater);
  return {};
}

Result<const Entry*> MergeStream::next() {
  if (!std::exchange(begun_, true)) {
    for (const auto& stream : streams_) {
      heads_.push_back({.stream = stream.get()});
      SLUICE_TRY(advance(heads_.size() - 1));
    }
  } else if (!heads_.empty()) {
    // The entry at the front was the caller's until now. Its name goes with it: keep it to compare.
    const std::string told(heads_.front().entry->name);
    do {
      std::ranges::pop_heap(heads_, kLater);
      SLUICE_TRY(advance(heads_.size() - 1));
    } while (!heads_.empty() && heads_.front().entry->name == told);
  }
  if (heads_.empty()) return nullptr;
  return heads_.front().entry;
}

Status join(EntryStream& src, EntryStream& dst,
            const std::function<Status(const Entry* src, const Entry* dst)>& pair) {
  SLUICE_LET(s, src.next());
  SLUICE_LET(d, dst.next());
  while (s != nullptr || d != nullptr) {
    const int order = s == nullptr ? 1 : d == nullptr ? -1 : s->name.compare(d->name);
    const bool take_src = order <= 0;
    const bool take_dst = order >= 0;
    SLUICE_TRY(pair(take_src ? s : nullptr, take_dst ? d : nullptr));
    if (take_src) {
      SLUICE_LET(following, src.next());
      s = following;
    }
    if (take_dst) {
      SLUICE_LET(following, dst.next());
      d = following;
    }
  }
  return {};
}

// ----------------------------------------------------------------------------------------- sorter

namespace {

/// The memory of the last listing of this thread, for the next one: growing it anew for every
/// directory would cost as much as packing its entries.
struct SpareListings {
  Listing page;
  Listing kept;
};
SpareListings& spare_listings() {
  alignas(8) thread_local SpareListings spare;
  return spare;
}

}  // namespace

Sorter::Sorter(kv::Store& store, const Place& place)
    : store_(store),
      place_(place),
      page_(std::exchange(spare_listings().page, {})),
      kept_(std::exchange(spare_listings().kept, {})) {}

Sorter::~Sorter() {
  page_.clear();
  kept_.clear();
  spare_listings() = {.page = std::move(page_), .kept = std::move(kept_)};
}

Status Sorter::take_page() {
  if (kept_.empty()) {
    std::swap(kept_, page_);
  } else {
    for (std::size_t i = 0; i < page_.size(); ++i) kept_.add(page_.at(i));
  }
  return kept_.bytes() >= place_.bytes_max ? spill() : Status();
}

bool Sorter::may_take_page() const {
  return place_.in_ledger ||
         kept_.bytes() + page_.bytes() < std::min(place_.bytes_max, kOneChangeBytesMax);
}

Status Sorter::spill() {
  spilled_ = true;
  kept_.sort();
  Change change;
  BlockBuilder builder(store_, {.part = Part::runs,
                                .id = run_key(),
                                .generation = static_cast<std::uint32_t>(runs_.size()) + 1,
                                .in_ledger = true});
  ListingStream sorted(kept_);
  for (;;) {
    SLUICE_LET(entry, sorted.next());
    if (entry == nullptr) break;
    SLUICE_TRY(builder.add(*entry));
  }
  SLUICE_LET(built, builder.finish(change));
  SLUICE_TRY(write(store_, change));
  runs_.push_back(built.chunks);
  kept_.clear();
  return {};
}

EntryStream& Sorter::finish() {
  kept_.sort();
  if (runs_.empty()) return sorted_.emplace(kept_);
  std::vector<std::unique_ptr<EntryStream>> streams;
  for (std::uint32_t run = 0; run < runs_.size(); ++run)
    streams.push_back(std::make_unique<BlockStream>(
        store_,
        BlockStream::Block{
            .part = Part::runs, .id = run_key(), .generation = run + 1, .chunks = runs_[run]}));
  streams.push_back(std::make_unique<ListingStream>(kept_));
  return merged_.emplace(std::move(streams));
}

void Sorter::clean(Change& change) const {
  if (spilled_ || place_.leftovers) change.erase_range(keys::chunks_of(Part::runs, run_key()));
}

Status Sorter::discard() {
  if (!spilled_ && !place_.leftovers) return {};
  return status_of(store_.run([&](kv::Transaction& txn) -> Status {
    txn.erase_range(keys::chunks_of(Part::runs, run_key()));
    return {};
  }));
}

void Sorter::restart() {
  page_.clear();
  kept_.clear();
  runs_.clear();
}

// ---------------------------------------------------------------------------------------- builder

codec::NumberTuple BlockBuilder::key(std::uint32_t number) const {
  return keys::chunk(place_.part, place_.id, place_.generation, number);
}

void BlockBuilder::end_chunk() {
  chunks_.push_back(writer_.finish());
  bytes_ += chunks_.back().size();
}

Status BlockBuilder::add(const Entry& entry) {
  ++built_.entries;
  if (writer_.add(entry)) return {};
  end_chunk();
  (void)writer_.add(entry);  // An empty chunk takes every entry.
  return place_.in_ledger && bytes_ >= kFlushBytes ? flush() : Status();
}

Status BlockBuilder::flush() {
  flushed_ = true;
  SLUICE_TRY(store_.run([&](kv::Transaction& txn) -> Status {
    std::uint32_t number = built_.chunks;
    for (const std::string& chunk : chunks_) txn.put(key(number++), chunk);
    return {};
  }));
  built_.chunks += static_cast<std::uint32_t>(chunks_.size());
  chunks_.clear();
  bytes_ = 0;
  return {};
}

Result<BlockBuilder::Built> BlockBuilder::finish(Change& change) {
  if (!writer_.empty() && chunks_.empty() && !flushed_) {
    built_.only_chunk = writer_.finish();  // As nearly always.
    change.put(key(built_.chunks++), built_.only_chunk);
  } else if (!writer_.empty()) {
    end_chunk();
  }
  if (flushed_) SLUICE_TRY(flush());
  for (const std::string& chunk : chunks_) change.put(key(built_.chunks++), chunk);
  chunks_.clear();
  // An attempt that was killed may have written more of them.
  if (place_.leftovers)
    change.erase_range({.begin = key(built_.chunks).to_string(),
                        .end = keys::chunks_of(place_.part, place_.id, place_.generation).end});
  return std::move(built_);
}

}  // namespace sluice::migrate
