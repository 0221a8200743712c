// SPDX-License-Identifier: MIT
// Reader and Transaction: the limits, and own writes laid over what the engine shows.
#include <sluice/kv.h>

#include <functional>
#include <string>
#include <utility>

#include "kv/keys.h"
#include "kv/overlay.h"
#include "kv/view.h"

namespace sluice::kv {
namespace {

constexpr unsigned kClockCheckPeriod = 16;  // Operations between two looks at the clock.

Status reserved() {
  return {Code::invalid_argument, "keys that begin with 0x00 or 0xff belong to the store"};
}

Status check_key(std::string_view key) {
  if (key.empty()) return {Code::invalid_argument, "a key must not be empty"};
  if (key.size() > kKeyBytesMax)
    return {Code::invalid_argument, "key of " + std::to_string(key.size()) + " bytes: at most " +
                                        std::to_string(kKeyBytesMax) + " are allowed (" +
                                        printable(key) + ")"};
  return is_user_key(key) ? Status() : reserved();
}

Status check_value(std::size_t bytes) {
  if (bytes <= kValueBytesMax) return {};
  return {Code::invalid_argument, "value of " + std::to_string(bytes) + " bytes: at most " +
                                      std::to_string(kValueBytesMax) +
                                      " are allowed; split it over several keys"};
}

Status check_range(const Range& range) {
  if (range.begin.size() > kKeyBytesMax || range.end.size() > kKeyBytesMax + 1)
    return {Code::invalid_argument, "a range's end is longer than a key can be"};
  return range.end > std::string_view(&kReservedLast, 1) ? reserved() : Status();
}

std::string_view as_view(const std::array<char, 8>& bytes) {
  return {bytes.data(), bytes.size()};
}

// Lays the overlay over the entries that the view shows, in the direction of the scan. Pushed one
// base entry at a time; emits the merged entries until the caller's visitor or the limit ends it.
class Merge {
 public:
  Merge(const Overlay& overlay, const View::Scan& scan, std::size_t limit, const Visitor& visitor)
      : overlay_(overlay), reverse_(scan.reverse), left_(limit), visitor_(visitor) {
    const auto& writes = overlay.writes();
    const auto low = writes.lower_bound(scan.begin);
    const auto high = writes.lower_bound(scan.end);
    next_ = reverse_ ? high : low;
    stop_ = reverse_ ? low : high;
  }

  bool base(std::string_view key, std::string_view value) {
    while (next_ != stop_ && own_key_is_before(key))
      if (!emit_own({})) return false;
    if (next_ != stop_ && own()->first == key) return emit_own(value);
    return overlay_.erased(key) || emit(key, value);
  }

  void rest() {
    while (next_ != stop_ && emit_own({})) {
    }
  }

  bool ended() const { return ended_; }

 private:
  using Iterator = Overlay::Writes::const_iterator;

  Iterator own() const { return reverse_ ? std::prev(next_) : next_; }
  bool own_key_is_before(std::string_view key) const {
    return reverse_ ? own()->first > key : own()->first < key;
  }

  bool emit_own(std::string_view base_value) {
    const auto& [key, write] = *own();
    next_ = reverse_ ? std::prev(next_) : std::next(next_);
    if (write.kind == Overlay::Kind::erase) return true;
    if (write.kind == Overlay::Kind::add)
      return emit(key, as_view(counter_after(base_value, write.delta)));
    return emit(key, write.value);
  }

  bool emit(std::string_view key, std::string_view value) {
    if (left_ > 0) --left_;
    if (!visitor_(key, value) || left_ == 0) ended_ = true;
    return !ended_;
  }

  const Overlay& overlay_;
  const bool reverse_;
  std::size_t left_;
  const Visitor& visitor_;
  Iterator next_;
  Iterator stop_;
  bool ended_ = false;
};

}  // namespace

Reader::Reader(View& view, Limits limits)
    : view_(view), limits_(limits), deadline_(limits.clock.mono() + limits.time_max) {}

Status Reader::fail(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
  return failure_;
}

void Reader::charge(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > kTransactionBytesMax)
    (void)fail({Code::invalid_argument, "transaction larger than " +
                                            std::to_string(kTransactionBytesMax) +
                                            " bytes: split it into several"});
}

Status Reader::check_time() {
  if (limits_.clock.mono() < deadline_) return {};
  return fail({Code::deadline_exceeded, "transaction took longer than 5 s: do less in one"});
}

Status Reader::check_operation() {
  if (failure_.ok() && ++operations_ % kClockCheckPeriod == 0) return check_time();
  return failure_;
}

// A conflicting read counts towards the size, and must not touch what has no stamp yet.
Status Reader::check_own_read(std::string_view begin, std::size_t bytes, bool stamped) {
  charge(bytes);
  if (!stamped) return failure_;
  return fail({Code::invalid_argument, "read of a key or value that this transaction stamped (" +
                                           printable(begin) +
                                           "): read before writing stamped keys"});
}

Result<bool> Reader::visit(std::string_view key, const ValueVisitor& visitor, Isolation isolation) {
  SLUICE_TRY(check_operation());
  if (auto status = check_key(key); !status.ok()) return Failure{fail(std::move(status))};
  const Overlay* own = isolation == Isolation::conflicting ? overlay_ : nullptr;
  if (own != nullptr) SLUICE_TRY(check_own_read(key, 2 * key.size(), own->unreadable(key)));
  const Overlay::Write* write = own != nullptr ? own->find(key) : nullptr;
  if (write != nullptr && write->kind == Overlay::Kind::add)
    return visit_sum(key, write->delta, visitor);
  if (write != nullptr) {
    if (write->kind == Overlay::Kind::erase) return false;
    visitor(write->value);
    return true;
  }
  if (own != nullptr && own->erased(key)) return false;
  auto found = view_.get(key, isolation, visitor);
  if (!found) return Failure{fail(found.error())};
  return found;
}

// What an add() of this transaction makes of the committed value.
Result<bool> Reader::visit_sum(std::string_view key, std::int64_t delta,
                               const ValueVisitor& visitor) {
  std::array<char, 8> sum = counter_after({}, delta);
  auto found = view_.get(key, Isolation::conflicting,
                         [&](std::string_view base) { sum = counter_after(base, delta); });
  if (!found) return Failure{fail(found.error())};
  visitor(as_view(sum));
  return true;
}

Result<std::optional<std::string>> Reader::get(std::string_view key, Isolation isolation) {
  std::optional<std::string> value;
  SLUICE_TRY(visit(key, [&](std::string_view bytes) { value = std::string(bytes); }, isolation));
  return value;
}

Status Reader::scan(const Range& range, const ScanOptions& options, const Visitor& visitor) {
  SLUICE_TRY(check_operation());
  if (auto status = check_range(range); !status.ok()) return fail(std::move(status));
  const Overlay* own = options.isolation == Isolation::conflicting ? overlay_ : nullptr;
  if (own != nullptr)
    SLUICE_TRY(check_own_read(range.begin, range.begin.size() + range.end.size(),
                              own->unreadable(range.begin, range.end)));
  if (range.begin >= range.end || options.limit == 0) return {};
  static const Overlay kNothing;
  const View::Scan base{range.begin, range.end, options.reverse, options.isolation};
  Merge merge(own != nullptr ? *own : kNothing, base, options.limit, visitor);
  Status late;
  const Status status = view_.scan(base, [&](std::string_view key, std::string_view value) {
    late = check_operation();
    return late.ok() && merge.base(key, value);
  });
  if (!status.ok()) return fail(status);
  if (!late.ok()) return late;
  if (!merge.ended()) merge.rest();
  return {};
}

Result<std::vector<KeyValue>> Reader::scan(const Range& range, const ScanOptions& options) {
  std::vector<KeyValue> entries;
  SLUICE_TRY(scan(range, options, [&](std::string_view key, std::string_view value) {
    entries.push_back({std::string(key), std::string(value)});
    return true;
  }));
  return entries;
}

Result<std::uint16_t> Reader::epoch() {
  SLUICE_TRY(check_operation());
  auto epoch = view_.epoch();
  if (!epoch) return Failure{fail(epoch.error())};
  return epoch;
}

Transaction::Transaction(View& view, Overlay& overlay, Limits limits) : Reader(view, limits) {
  overlay_ = &overlay;
}

bool Transaction::writable(std::string_view key) {
  if (!failure_.ok()) return false;
  auto status = check_key(key);
  if (status.ok()) return true;
  (void)fail(std::move(status));
  return false;
}

void Transaction::put(std::string_view key, std::string_view value) {
  if (!writable(key)) return;
  if (auto status = check_value(value.size()); !status.ok()) return (void)fail(std::move(status));
  charge(3 * key.size() + value.size());
  if (failure_.ok()) overlay_->put(key, value);
}

void Transaction::erase(std::string_view key) {
  if (!writable(key)) return;
  charge(3 * key.size());
  if (failure_.ok()) overlay_->erase(key);
}

void Transaction::erase_range(const Range& range) {
  if (!failure_.ok()) return;
  if (auto status = check_range(range); !status.ok()) return (void)fail(std::move(status));
  if (overlay_->unreadable(range.begin, range.end))
    return (void)fail(
        {Code::invalid_argument, "erase_range over a key or value that this transaction stamped"});
  charge(2 * (range.begin.size() + range.end.size()));
  if (failure_.ok()) overlay_->erase_range(range.begin, range.end);
}

void Transaction::add(std::string_view key, std::int64_t delta) {
  if (!writable(key)) return;
  const Overlay::Write* write = overlay_->find(key);
  if (write != nullptr && write->kind == Overlay::Kind::stamped_value)
    return (void)fail({Code::invalid_argument, "add to a value that this transaction stamped"});
  charge(3 * key.size() + sizeof delta);
  if (failure_.ok()) overlay_->add(key, delta);
}

void Transaction::put_stamped_key(std::string_view prefix, std::uint32_t ordinal,
                                  std::string_view suffix, std::string_view value) {
  if (!writable(prefix)) return;
  const std::size_t key_bytes = prefix.size() + kMarkBytes + suffix.size();
  if (key_bytes > kKeyBytesMax)
    return (void)fail({Code::invalid_argument, "stamped key of " + std::to_string(key_bytes) +
                                                   " bytes: at most " +
                                                   std::to_string(kKeyBytesMax) + " are allowed"});
  if (auto status = check_value(value.size()); !status.ok()) return (void)fail(std::move(status));
  charge(3 * key_bytes + value.size());
  if (failure_.ok()) overlay_->put_stamped_key(prefix, ordinal, suffix, value);
}

void Transaction::put_stamped_value(std::string_view key, std::string_view value,
                                    std::uint32_t ordinal) {
  if (!writable(key)) return;
  const std::size_t value_bytes = value.size() + kMarkBytes;
  if (auto status = check_value(value_bytes); !status.ok()) return (void)fail(std::move(status));
  charge(3 * key.size() + value_bytes);
  if (failure_.ok()) overlay_->put_stamped_value(key, value, ordinal);
}

void Transaction::refuse(Status status) {
  (void)fail(std::move(status));
}

void Transaction::ring(std::string_view bell) {
  overlay_->ring(bell);
}

void Transaction::after_commit(std::function<void()> told) {
  overlay_->after_commit(std::move(told));
}

Result<std::int64_t> decode_counter(const std::optional<std::string>& value) {
  if (!value) return 0;
  if (value->size() != 8)
    return error(Code::corrupt, "a counter is 8 bytes, not " + std::to_string(value->size()));
  std::uint64_t number = 0;
  for (std::size_t i = 8; i > 0; --i)
    number = number << 8 | static_cast<std::uint8_t>((*value)[i - 1]);
  return static_cast<std::int64_t>(number);
}

}  // namespace sluice::kv
