// SPDX-License-Identifier: MIT
// The private writes of one transaction, until its commit applies them to the store.
#pragma once

#include <sluice/kv.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/intervals.h"

namespace sluice::kv {

/// Where an engine receives the writes of a body that commits, with the stamps filled in.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Status erase(std::string_view key) = 0;
  virtual Status erase_range(std::string_view begin, std::string_view end) = 0;
  virtual Status add(std::string_view key, std::int64_t delta) = 0;
};

/// Later writes win over earlier ones to the same key. One Overlay serves many transactions in
/// turn: clear() keeps its memory. All bytes are copied into arenas that the transaction's size
/// limit bounds. Not thread-safe.
class Overlay {
 public:
  enum class Kind : std::uint8_t { put, erase, add, stamped_value };
  struct Write {
    Kind kind = Kind::put;
    std::string_view value = {};  // put, stamped_value
    std::int64_t delta = 0;       // add
    std::uint32_t ordinal = 0;    // stamped_value
  };
  using Writes = std::pmr::map<std::string_view, Write>;

  /// What fits into the first block is written without asking for memory.
  explicit Overlay(std::size_t first_block_bytes = 8192)
      : first_block_(std::make_unique_for_overwrite<std::byte[]>(first_block_bytes)),
        arena_(first_block_.get(), first_block_bytes / 2),
        values_(first_block_.get() + first_block_bytes / 2, first_block_bytes / 2) {
    hints_.fill(writes_.end());
  }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  void erase_range(std::string_view begin, std::string_view end);
  /// The key must not hold a stamped value of this transaction.
  void add(std::string_view key, std::int64_t delta);
  void put_stamped_key(std::string_view prefix, std::uint32_t ordinal, std::string_view suffix,
                       std::string_view value);
  void put_stamped_value(std::string_view key, std::string_view value, std::uint32_t ordinal);
  void ring(std::string_view bell);
  void after_commit(std::function<void()> told) { told_.push_back(std::move(told)); }

  /// The write to exactly this key, or null.
  const Write* find(std::string_view key) const;
  /// The writes to single keys, in key order.
  const Writes& writes() const { return writes_; }
  /// Whether the key's committed value is hidden by an erased range (a later write may follow it).
  bool erased(std::string_view key) const { return erased_.contains(key); }
  /// Whether a read of begin <= key < end could see something whose stamp is not known yet.
  bool unreadable(std::string_view begin, std::string_view end) const;
  bool unreadable(std::string_view key) const;

  bool empty() const { return writes_.empty() && erased_.empty() && stamped_keys_.empty(); }
  /// Distinct keys written, erased ranges apart.
  std::size_t key_count() const { return writes_.size() + stamped_keys_.size(); }
  bool erases_ranges() const { return !erased_.empty(); }
  /// Writes that may have added a key.
  std::size_t put_count() const { return puts_; }
  /// Keys and values of all writes so far.
  std::size_t bytes() const { return bytes_; }
  const std::pmr::list<std::string_view>& bells() const { return bells_; }
  /// What is to be called after the commit; the caller takes it over.
  std::vector<std::function<void()>> take_told() { return std::exchange(told_, {}); }

  /// Hands every write to `sink`: erased ranges first, then single keys, then stamped keys. Stops
  /// at the first failure.
  Status apply(Sink& sink, const Commit& commit) const;

  void clear();

 private:
  struct StampedKey {
    std::string_view prefix;
    std::string_view suffix;
    std::string_view value;
    std::uint32_t ordinal = 0;
  };

  std::string_view keep(std::string_view bytes) { return keep(arena_, bytes); }
  std::string_view keep_value(std::string_view bytes) { return keep(values_, bytes); }
  static std::string_view keep(std::pmr::monotonic_buffer_resource& arena, std::string_view bytes);
  static std::size_t hint_of(std::string_view key);
  Write& write_to(std::string_view key);
  static Status apply_write(Sink& sink, const Commit& commit, std::string_view key,
                            const Write& write, std::string& buffer);

  // Every container gives up all of its memory in clear(); a vector would keep its buffer.
  std::unique_ptr<std::byte[]> first_block_;
  std::pmr::monotonic_buffer_resource arena_;
  // Apart, so that what is walked through lies close together.
  std::pmr::monotonic_buffer_resource values_;
  Writes writes_{&arena_};
  // Where keys of each kind were last written: the next one often belongs right behind it.
  static constexpr unsigned kHintBits = 6;
  std::array<Writes::iterator, std::size_t{1} << kHintBits> hints_;
  Intervals erased_{&arena_};
  Intervals stamped_{&arena_};  // Where stamped keys may be.
  bool has_stamped_value_ = false;
  std::pmr::list<StampedKey> stamped_keys_{&arena_};
  std::pmr::list<std::string_view> bells_{&arena_};
  std::vector<std::function<void()>> told_;
  std::size_t bytes_ = 0;
  std::size_t puts_ = 0;
};

/// The number that add() makes of `before`, which may have any length (see Transaction::add).
std::array<char, 8> counter_after(std::string_view before, std::int64_t delta);

}  // namespace sluice::kv
