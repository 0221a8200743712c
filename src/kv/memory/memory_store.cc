// SPDX-License-Identifier: MIT
#include "kv/memory/memory_store.h"

#include <memory_resource>
#include <optional>
#include <string>

#include "kv/keys.h"

namespace sluice::kv {
namespace {

// One pinned version. Remembers the ranges that were read conflictingly.
class MemoryView final : public View {
 public:
  MemoryView(Versions& versions, std::uint16_t epoch)
      : versions_(versions), version_(versions.pin()), epoch_(epoch) {}
  ~MemoryView() override { versions_.unpin(version_); }
  MemoryView(const MemoryView&) = delete;
  MemoryView& operator=(const MemoryView&) = delete;

  Result<bool> get(std::string_view key, Isolation isolation,
                   const ValueVisitor& visitor) override {
    if (isolation == Isolation::conflicting) note_read(key, after_key(key));
    const auto value = versions_.get(key, version_);
    if (value) visitor(*value);
    return value.has_value();
  }

  // Pages, so that a long scan holds nobody up and the visitor runs without a lock.
  Status scan(const Scan& scan, const Visitor& visitor) override {
    constexpr std::size_t kPage = 64;
    std::string begin(scan.begin);
    std::string end(scan.end);
    const bool conflicting = scan.isolation == Isolation::conflicting;
    for (;;) {
      const auto page = versions_.page({begin, end, scan.reverse}, kPage, version_);
      for (const auto& [key, value] : page) {
        (scan.reverse ? end : begin) = scan.reverse ? key : after_key(key);
        if (visitor(key, value)) continue;
        if (conflicting && scan.reverse) note_read(key, scan.end);
        if (conflicting && !scan.reverse) note_read(scan.begin, begin);
        return {};
      }
      if (page.size() < kPage) break;
    }
    if (conflicting) note_read(scan.begin, scan.end);
    return {};
  }

  Result<std::uint16_t> epoch() override { return epoch_; }

  const Intervals& reads() const { return reads_; }
  Versions::Version version() const { return version_; }

 private:
  std::string_view keep(std::string_view bytes) {
    return *new (arena_.allocate(sizeof(std::pmr::string), alignof(std::pmr::string)))
        std::pmr::string(bytes, &arena_);
  }
  void note_read(std::string_view begin, std::string_view end) {
    reads_.insert(keep(begin), keep(end));
  }

  Versions& versions_;
  const Versions::Version version_;
  const std::uint16_t epoch_;
  std::pmr::monotonic_buffer_resource arena_;  // The bytes that reads_ refers to.
  Intervals reads_{&arena_};
};

}  // namespace

MemoryStore::MemoryStore(MemoryOptions options)
    : options_(std::move(options)), bells_(words_, [this] { return versions_.latest(); }) {}

Stats MemoryStore::stats() const {
  return {.engine =
              options_.mode == MemoryOptions::Mode::serial ? "memory serial" : "memory optimistic",
          .commits = commits_,
          .conflicts = conflicts_,
          .bytes_written = bytes_written_,
          .batch_size = distribution_of(batch_size_)};
}

std::optional<Result<Commit>> MemoryStore::attempt(const Body& body) {
  const bool optimistic = options_.mode == MemoryOptions::Mode::optimistic;
  const std::uint16_t epoch = epoch_;
  MemoryView view(versions_, epoch);
  Overlay overlay;
  if (auto status = Engine::run_body(body, view, overlay, *options_.clock); !status.ok())
    return Result<Commit>(Failure{std::move(status)});
  if (optimistic && options_.before_commit) options_.before_commit();
  Commit commit{.epoch = epoch, .stamp = {}};
  if (optimistic && epoch != epoch_) return std::nullopt;  // The body may have read the old one.
  if (!overlay.empty()) {
    const auto committed = versions_.commit(overlay, commit.epoch,
                                            optimistic ? &view.reads() : nullptr, view.version());
    if (!committed) {
      ++conflicts_;
      return std::nullopt;
    }
    commit = *committed;
    ++commits_;
    bytes_written_ += overlay.bytes();
    batch_size_.record(1);
  }
  for (const std::string_view bell : overlay.bells()) bells_.ring(bell);
  for (const auto& told : overlay.take_told()) told();
  return Result<Commit>(commit);
}

Result<Commit> MemoryStore::do_run(const Body& body, const WriteOptions& options) {
  if (options_.mode == MemoryOptions::Mode::serial) {
    const MutexLock lock(writer_);
    return *attempt(body);
  }
  return retry_conflicts([&] { return attempt(body); }, options.attempts_max, *options_.clock);
}

void MemoryStore::do_submit(Body body, Done done, const WriteOptions& options) {
  done(do_run(body, options));
}

Status MemoryStore::do_read(const ReadBody& body, const ReadOptions& options) {
  if (options.unbounded && options_.mode == MemoryOptions::Mode::optimistic)
    return {Code::invalid_argument, "this store cannot hold a snapshot for longer than 5 s"};
  MemoryView view(versions_, epoch_);
  return Engine::run_read(body, view, options, *options_.clock);
}

Result<std::uint16_t> MemoryStore::do_raise_epoch() {
  const MutexLock lock(writer_);
  if (epoch_ == UINT16_MAX) return error(Code::limit_exceeded, "the last epoch has been reached");
  return ++epoch_;
}

Status MemoryStore::do_copy_to(const std::string&) {
  return {Code::invalid_argument, "a memory store has no file to copy"};
}

std::unique_ptr<Store> open_memory(MemoryOptions options) {
  return std::make_unique<MemoryStore>(std::move(options));
}

}  // namespace sluice::kv
