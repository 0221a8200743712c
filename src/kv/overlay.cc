// SPDX-License-Identifier: MIT
#include "kv/overlay.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/check.h"
#include "kv/keys.h"

namespace sluice::kv {

std::array<char, 8> counter_after(std::string_view before, std::int64_t delta) {
  std::uint64_t number = 0;
  for (std::size_t i = std::min<std::size_t>(before.size(), 8); i > 0; --i)
    number = number << 8 | static_cast<std::uint8_t>(before[i - 1]);
  number += static_cast<std::uint64_t>(delta);
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  return bytes;
}

std::string_view Overlay::keep(std::pmr::monotonic_buffer_resource& arena, std::string_view bytes) {
  if (bytes.empty()) return {};
  auto* copy = static_cast<char*>(arena.allocate(bytes.size(), 1));
  std::memcpy(copy, bytes.data(), bytes.size());
  return {copy, bytes.size()};
}

// Keys of one kind begin alike: a prefix or none, the kind, and often a number that stays the same
// for a while.
std::size_t Overlay::hint_of(std::string_view key) {
  std::uint64_t first = 0;
  std::memcpy(&first, key.data(), std::min<std::size_t>(key.size(), 6));
  return (first * 0x9e3779b97f4a7c15u) >> (64 - kHintBits);
}

Overlay::Write& Overlay::write_to(std::string_view key) {
  bytes_ += key.size();
  auto& hint = hints_[hint_of(key)];
  auto it = hint;
  bool is_new =
      it != writes_.end() && it->first < key && (++it == writes_.end() || key < it->first);
  if (!is_new) {
    it = writes_.lower_bound(key);
    is_new = it == writes_.end() || it->first != key;
  }
  if (is_new) it = writes_.emplace_hint(it, keep(key), Write{});
  hint = it;
  return it->second;
}

void Overlay::put(std::string_view key, std::string_view value) {
  ++puts_;
  bytes_ += value.size();
  write_to(key) = Write{.kind = Kind::put, .value = keep_value(value)};
}

void Overlay::erase(std::string_view key) {
  write_to(key) = Write{.kind = Kind::erase};
}

void Overlay::erase_range(std::string_view begin, std::string_view end) {
  if (begin >= end) return;
  bytes_ += begin.size() + end.size();
  writes_.erase(writes_.lower_bound(begin), writes_.lower_bound(end));
  hints_.fill(writes_.end());
  erased_.insert(keep(begin), keep(end));
}

void Overlay::add(std::string_view key, std::int64_t delta) {
  ++puts_;
  bytes_ += sizeof delta;
  const bool hidden = erased_.contains(key);
  const auto size_before = writes_.size();
  Write& write = write_to(key);
  const bool fresh = writes_.size() != size_before;
  SLUICE_CHECK(write.kind != Kind::stamped_value);
  if (fresh && !hidden) {
    write = Write{.kind = Kind::add, .delta = delta};
  } else if (write.kind == Kind::add) {
    write.delta = static_cast<std::int64_t>(static_cast<std::uint64_t>(write.delta) +
                                            static_cast<std::uint64_t>(delta));
  } else {
    // What lies below is known (a put, or nothing), so the sum is too.
    const auto sum = counter_after(write.kind == Kind::put ? write.value : "", delta);
    write = Write{.kind = Kind::put, .value = keep({sum.data(), sum.size()})};
  }
}

void Overlay::put_stamped_key(std::string_view prefix, std::uint32_t ordinal,
                              std::string_view suffix, std::string_view value) {
  ++puts_;
  bytes_ += prefix.size() + kMarkBytes + suffix.size() + value.size();
  const std::string_view kept = keep(prefix);
  stamped_keys_.push_back({kept, keep(suffix), keep(value), ordinal});
  if (!stamped_.contains(kept)) stamped_.insert(kept, keep(after_prefix(prefix)));
}

void Overlay::put_stamped_value(std::string_view key, std::string_view value,
                                std::uint32_t ordinal) {
  ++puts_;
  bytes_ += value.size() + kMarkBytes;
  write_to(key) =
      Write{.kind = Kind::stamped_value, .value = keep_value(value), .ordinal = ordinal};
  has_stamped_value_ = true;
}

bool Overlay::unreadable(std::string_view begin, std::string_view end) const {
  if (stamped_.meets(begin, end)) return true;
  if (!has_stamped_value_) return false;
  for (auto it = writes_.lower_bound(begin); it != writes_.end() && it->first < end; ++it)
    if (it->second.kind == Kind::stamped_value) return true;
  return false;
}

bool Overlay::unreadable(std::string_view key) const {
  if (stamped_.contains(key)) return true;
  if (!has_stamped_value_) return false;
  const Write* write = find(key);
  return write != nullptr && write->kind == Kind::stamped_value;
}

void Overlay::ring(std::string_view bell) {
  if (std::find(bells_.begin(), bells_.end(), bell) == bells_.end()) bells_.push_back(keep(bell));
}

const Overlay::Write* Overlay::find(std::string_view key) const {
  if (writes_.empty()) return nullptr;
  auto it = Writes::const_iterator(hints_[hint_of(key)]);
  if (it != writes_.end() && it->first < key && (++it == writes_.end() || key < it->first))
    return nullptr;
  it = writes_.find(key);
  return it == writes_.end() ? nullptr : &it->second;
}

Status Overlay::apply_write(Sink& sink, const Commit& commit, std::string_view key,
                            const Write& write, std::string& buffer) {
  switch (write.kind) {
    case Kind::put:
      return sink.put(key, write.value);
    case Kind::erase:
      return sink.erase(key);
    case Kind::add:
      return sink.add(key, write.delta);
    case Kind::stamped_value:
      break;
  }
  buffer = write.value;
  append(buffer, commit.mark(write.ordinal));
  return sink.put(key, buffer);
}

Status Overlay::apply(Sink& sink, const Commit& commit) const {
  for (const auto& [begin, end] : erased_) SLUICE_TRY(sink.erase_range(begin, end));
  std::string buffer;
  for (const auto& [key, write] : writes_)
    SLUICE_TRY(apply_write(sink, commit, key, write, buffer));
  for (const StampedKey& stamped : stamped_keys_) {
    buffer = stamped.prefix;
    append(buffer, commit.mark(stamped.ordinal));
    buffer += stamped.suffix;
    SLUICE_TRY(sink.put(buffer, stamped.value));
  }
  return {};
}

void Overlay::clear() {
  // Its nodes lie in the arena and have nothing to destroy: no need to visit each.
  static_assert(std::is_trivially_destructible_v<Writes::value_type>);
  std::construct_at(&writes_, &arena_);
  hints_.fill(writes_.end());
  erased_.clear();
  stamped_.clear();
  has_stamped_value_ = false;
  stamped_keys_.clear();
  bells_.clear();
  told_.clear();
  bytes_ = 0;
  puts_ = 0;
  arena_.release();
  values_.release();
}

}  // namespace sluice::kv
