// SPDX-License-Identifier: MIT
// Entries of one directory in the order of their names, wherever they come from.
#pragma once

#include <sluice/kv.h>
#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migrate/block.h"
#include "migrate/entry.h"
#include "migrate/ledger.h"
#include "migrate/listing.h"

namespace sluice::migrate {

class EntryStream {
 public:
  virtual ~EntryStream() = default;
  /// The next entry, or null at the end. It lives until the next call.
  virtual Result<const Entry*> next() = 0;
};

class NoEntries final : public EntryStream {
 public:
  Result<const Entry*> next() override { return nullptr; }
};

/// A sorted listing, which must outlive it and stay as it is.
class ListingStream final : public EntryStream {
 public:
  explicit ListingStream(const Listing& listing) : listing_(listing) {}
  Result<const Entry*> next() override;

 private:
  const Listing& listing_;
  std::size_t at_ = 0;
  const Entry* last_ = nullptr;
};

/// A block of the ledger, read chunk by chunk, each in a short transaction of its own: whoever
/// reads a large one holds up nobody. `corrupt` if a chunk is missing or damaged.
class BlockStream final : public EntryStream {
 public:
  struct Block {
    Part part = Part::src;
    FolderId id = 0;
    std::uint32_t generation = 0;
    std::uint32_t chunks = 0;
  };
  BlockStream(kv::Store& store, const Block& block) : store_(store), block_(block) {}
  /// The same, with its first chunk already read.
  BlockStream(kv::Store& store, const Block& block, std::string first_chunk);
  BlockStream(const BlockStream&) = delete;
  BlockStream& operator=(const BlockStream&) = delete;

  /// Goes on with this chunk.
  void seek(std::uint32_t chunk);
  Result<const Entry*> next() override;
  /// The number of the chunk that the last entry was in.
  std::uint32_t chunk() const { return next_chunk_ - 1; }

 private:
  Status open_chunk();

  kv::Store& store_;
  Block block_;
  std::uint32_t next_chunk_ = 0;
  std::string chunk_;
  std::optional<ChunkReader> reader_;
};

/// An entry that was found, and the memory that its views point into.
struct FoundEntry {
  std::unique_ptr<BlockStream> stream;
  const Entry* entry = nullptr;  ///< Null: there is none of that name.
};
/// The entry `name` of a block: chunks are searched by halving.
Result<FoundEntry> find_entry(kv::Store& store, const BlockStream::Block& block,
                              std::string_view name);

/// One chunk.
class ChunkStream final : public EntryStream {
 public:
  explicit ChunkStream(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<const Entry*> next() override;

 private:
  std::string bytes_;
  std::optional<ChunkReader> reader_;
};

/// Several sorted streams as one. A name that comes more than once is told once.
class MergeStream final : public EntryStream {
 public:
  explicit MergeStream(std::vector<std::unique_ptr<EntryStream>> streams);
  Result<const Entry*> next() override;

 private:
  struct Head {
    const Entry* entry = nullptr;
    EntryStream* stream = nullptr;
  };
  Status advance(std::size_t index);

  std::vector<std::unique_ptr<EntryStream>> streams_;
  std::vector<Head> heads_;  // A heap: the least name first.
  bool begun_ = false;
};

/// What the copy did in one directory: each pass has its own chunks, so they overlap.
Result<std::unique_ptr<EntryStream>> copied_in(kv::Reader& reader, FolderId id);

/// Calls `pair` for each name of either stream, in order, with the entry of each or null.
Status join(EntryStream& src, EntryStream& dst,
            const std::function<Status(const Entry* src, const Entry* dst)>& pair);

/// Sorts a listing of any size within bounded memory: what does not fit goes into the ledger as
/// sorted runs, where nothing looks for it.
class Sorter {
 public:
  struct Place {
    Side side = Side::src;
    FolderId id = 0;
    std::size_t bytes_max = std::size_t{8} << 20;  ///< Of memory, before it spills.
    bool in_ledger = false;                        ///< The directory is, so runs may be, too.
    bool leftovers = false;  ///< A process that was killed may have left some.
  };
  Sorter(kv::Store& store, const Place& place);
  ~Sorter();
  Sorter(const Sorter&) = delete;
  Sorter& operator=(const Sorter&) = delete;

  Listing& page() { return page_; }  ///< The scratch for Tree::list().
  /// A page has been filled. Leaves the entries there as long as they fit.
  Status take_page();
  /// Whether the page can be taken, and the block made of all entries, without anything being
  /// written before the directory is in the ledger. Always, if it is.
  bool may_take_page() const;
  /// All of them, sorted, each name once. The stream is the sorter's, and lives as long; to be
  /// called once.
  EntryStream& finish();
  /// Removes what may be in the ledger, with the change that the listing becomes.
  void clean(Change& change) const;
  /// Forgets the entries. What of them is in the ledger is still to be removed.
  void restart();
  /// Removes it from the ledger now. For another attempt, which may begin to spill before a change
  /// of this one would be committed.
  Status discard();

 private:
  FolderId run_key() const { return place_.id * 2 + static_cast<FolderId>(place_.side); }
  Status spill();

  kv::Store& store_;
  Place place_;
  Listing page_;
  Listing kept_;
  std::vector<std::uint32_t> runs_;  // How many chunks each has.
  bool spilled_ = false;
  std::optional<ListingStream> sorted_;  // Of kept_.
  std::optional<MergeStream> merged_;    // Of that and the runs.
};

/// Packs entries into a block. A small one becomes part of the change; of a large one most chunks
/// are written before, under a generation that nobody looks at until the change is committed.
class BlockBuilder {
 public:
  struct Place {
    Part part = Part::src;
    FolderId id = 0;
    std::uint32_t generation = 0;
    bool in_ledger = false;  ///< The directory is, so chunks may be written before the change.
    bool leftovers = false;  ///< A process that was killed may have left some.
  };
  struct Built {
    std::uint32_t chunks = 0;
    std::uint64_t entries = 0;
    std::string only_chunk = {};  ///< If there is one.
  };
  BlockBuilder(kv::Store& store, const Place& place) : store_(store), place_(place) {}

  Status add(const Entry& entry);
  Result<Built> finish(Change& change);

 private:
  codec::NumberTuple key(std::uint32_t number) const;
  void end_chunk();
  Status flush();

  kv::Store& store_;
  Place place_;
  ChunkWriter writer_;
  std::vector<std::string> chunks_;  // Not written yet.
  std::size_t bytes_ = 0;            // Of these.
  Built built_;
  bool flushed_ = false;
};

}  // namespace sluice::migrate
