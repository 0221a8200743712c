// SPDX-License-Identifier: MIT
#include "kv/memory/versions.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "kv/keys.h"

namespace sluice::kv {

// Receives one overlay as version `version`; the caller holds the mutex.
class Versions::Writer final : public Sink {
 public:
  Writer(Versions& store, Version version) : store_(store), version_(version) {}

  Status put(std::string_view key, std::string_view value) override {
    write(key, std::string(value));
    return {};
  }
  Status erase(std::string_view key) override {
    write(key, std::nullopt);
    return {};
  }
  Status erase_range(std::string_view begin, std::string_view end) override
      SLUICE_ANNOTATE(no_thread_safety_analysis) {
    spans_.emplace_back(begin, end);
    const auto stop = store_.map_.lower_bound(end);
    for (auto it = store_.map_.lower_bound(begin); it != stop; ++it)
      if (it->second.back().bytes) set(it->first, it->second, std::nullopt);
    return {};
  }
  Status add(std::string_view key, std::int64_t delta) override
      SLUICE_ANNOTATE(no_thread_safety_analysis) {
    const auto it = store_.map_.find(key);
    const bool there = it != store_.map_.end() && it->second.back().bytes;
    const auto sum = counter_after(there ? *it->second.back().bytes : "", delta);
    write(key, std::string(sum.data(), sum.size()));
    return {};
  }

  Spans take_spans() { return std::move(spans_); }

 private:
  void write(std::string_view key, std::optional<std::string> bytes)
      SLUICE_ANNOTATE(no_thread_safety_analysis) {
    spans_.emplace_back(key, after_key(key));
    auto it = store_.map_.lower_bound(key);
    if (it == store_.map_.end() || it->first != key) {
      if (!bytes) return;
      it = store_.map_.emplace_hint(it, std::string(key), std::vector<Value>());
    }
    set(it->first, it->second, std::move(bytes));
  }

  void set(const std::string& key, std::vector<Value>& values, std::optional<std::string> bytes)
      SLUICE_ANNOTATE(no_thread_safety_analysis) {
    if (!values.empty() && values.back().version == version_) {
      values.back().bytes = std::move(bytes);
      return;
    }
    if (!values.empty() || !bytes) store_.stale_.emplace_back(version_, key);
    values.push_back({version_, std::move(bytes)});
  }

  Versions& store_;
  const Version version_;
  Spans spans_;
};

Versions::Version Versions::latest() const {
  const MutexLock lock(mutex_);
  return latest_;
}

Versions::Version Versions::pin() {
  const MutexLock lock(mutex_);
  pinned_.insert(latest_);
  return latest_;
}

void Versions::unpin(Version version) {
  const MutexLock lock(mutex_);
  const auto it = pinned_.find(version);
  SLUICE_CHECK(it != pinned_.end());
  pinned_.erase(it);
  trim();
}

const std::optional<std::string>* Versions::at_version(const std::vector<Value>& values,
                                                       Version at) {
  for (auto value = values.rbegin(); value != values.rend(); ++value)
    if (value->version <= at) return &value->bytes;
  return nullptr;
}

std::optional<std::string> Versions::get(std::string_view key, Version at) const {
  const MutexLock lock(mutex_);
  const auto it = map_.find(key);
  if (it == map_.end()) return std::nullopt;
  const auto* bytes = at_version(it->second, at);
  return bytes == nullptr ? std::nullopt : *bytes;
}

std::vector<KeyValue> Versions::page(const View::Scan& scan, std::size_t limit, Version at) const {
  const MutexLock lock(mutex_);
  std::vector<KeyValue> entries;
  const auto take = [&](const auto& entry) {
    const auto* bytes = at_version(entry.second, at);
    if (bytes != nullptr && *bytes) entries.push_back({entry.first, **bytes});
  };
  const auto low = map_.lower_bound(scan.begin);
  const auto high = map_.lower_bound(scan.end);
  if (scan.reverse) {
    for (auto it = high; it != low && entries.size() < limit;) take(*--it);
  } else {
    for (auto it = low; it != high && entries.size() < limit; ++it) take(*it);
  }
  return entries;
}

bool Versions::written_since(const Intervals& reads, Version since) const {
  const MutexLock lock(mutex_);
  return written_since_locked(reads, since);
}

bool Versions::written_since_locked(const Intervals& reads, Version since) const {
  if (reads.empty()) return false;
  for (auto commit = written_.rbegin(); commit != written_.rend() && commit->version > since;
       ++commit)
    for (const auto& [begin, end] : commit->spans)
      if (reads.meets(begin, end)) return true;
  return false;
}

std::optional<Commit> Versions::commit(const Overlay& overlay, std::uint16_t epoch,
                                       const Intervals* reads, Version since) {
  const MutexLock lock(mutex_);
  if (reads != nullptr && written_since_locked(*reads, since)) return std::nullopt;
  const Version version = latest_ + 1;
  Commit commit{.epoch = epoch, .stamp = {}};
  for (std::size_t i = 0; i < 8; ++i)
    commit.stamp.bytes[i] = static_cast<std::uint8_t>(version >> (8 * (7 - i)));
  Writer writer(*this, version);
  SLUICE_CHECK(overlay.apply(writer, commit).ok());
  latest_ = version;
  written_.push_back({version, writer.take_spans()});
  trim();
  return commit;
}

Versions::Version Versions::oldest_pinned() const {
  return pinned_.empty() ? latest_ : *pinned_.begin();
}

void Versions::trim() {
  const Version oldest = oldest_pinned();
  while (!written_.empty() && written_.front().version <= oldest) written_.pop_front();
  while (!stale_.empty() && stale_.front().first <= oldest) {
    trim_key(stale_.front().second, oldest);
    stale_.pop_front();
  }
}

// Keeps the value that `oldest` sees and all later ones.
void Versions::trim_key(const std::string& key, Version oldest) {
  const auto it = map_.find(key);
  if (it == map_.end()) return;
  auto& values = it->second;
  const auto later = std::find_if(values.begin(), values.end(),
                                  [&](const Value& value) { return value.version > oldest; });
  if (later != values.begin()) values.erase(values.begin(), std::prev(later));
  if (values.size() == 1 && !values.front().bytes && values.front().version <= oldest)
    map_.erase(it);
}

void Versions::rewind(Version version) {
  const MutexLock lock(mutex_);
  SLUICE_CHECK(version <= latest_);
  for (auto it = map_.begin(); it != map_.end();) {
    auto& values = it->second;
    while (!values.empty() && values.back().version > version) values.pop_back();
    it = values.empty() ? map_.erase(it) : std::next(it);
  }
  while (!written_.empty() && written_.back().version > version) written_.pop_back();
  while (!stale_.empty() && stale_.back().first > version) stale_.pop_back();
  latest_ = version;
}

}  // namespace sluice::kv
