// SPDX-License-Identifier: MIT
#include "migrate/copying.h"

#include <sluice/token_bucket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <latch>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "migrate/bell.h"
#include "migrate/copy_unit.h"

namespace sluice::migrate {
namespace {

/// Units in memory. The others are in the ledger, in order.
constexpr std::size_t kUnitsMax = 1'024;
/// What was done is recorded after so much or so long: with CopyOptions::sync that is a sync of the
/// destination's file system.
constexpr std::size_t kCommitBytes = std::size_t{1} << 20;
constexpr Duration kCommitEvery = std::chrono::seconds(1);

/// Lets so many bytes through a second, whoever asks.
class Limiter {
 public:
  Limiter(const Clock& clock, std::uint64_t bytes_per_second)
      : clock_(clock),
        limit_{.tokens = bytes_per_second,
               .per = std::chrono::seconds(1),
               .burst = std::max<std::uint64_t>(bytes_per_second / 4, kCopyPieceBytesMax)},
        state_(full_bucket(limit_, now())) {}

  void take(std::size_t bytes, const std::stop_token& stop) {
    for (;;) {
      Duration ready_at{};
      {
        const MutexLock lock(mutex_);
        const BucketTake taken = sluice::take(limit_, state_, now(), bytes);
        state_ = taken.state;
        if (taken.taken) return;
        ready_at = taken.ready_at;
      }
      if (stop.stop_requested()) return;
      clock_.sleep_for(ready_at - now(), stop);
    }
  }

 private:
  Duration now() const { return clock_.mono().time_since_epoch(); }

  const Clock& clock_;
  const BucketLimit limit_;
  Mutex mutex_;
  BucketState state_ SLUICE_GUARDED_BY(mutex_);
};

struct Uncommitted {
  std::vector<CopyUnitOutcome> outcomes;
  std::size_t bytes = 0;
  MonoTime since = {};
};

}  // namespace

class Copying::Impl {
 public:
  Impl(const Context& context, CopyOptions options)
      : context_(context), options_(std::move(options)) {
    if (options_.bytes_per_second != 0)
      limiter_.emplace(*options_.clock, options_.bytes_per_second);
  }

  Status run(runtime::Executor& executor, std::stop_token stop) {
    stop_ = std::move(stop);
    const Settings& settings = context_.settings;
    CopyRules rules{.owners = settings.rules.owners,
                    .modes = settings.rules.modes,
                    .times = settings.rules.times,
                    .verify = options_.verify,
                    .throttle =
                        [this](std::size_t bytes) {
                          progress_.bytes += bytes;
                          if (limiter_) limiter_->take(bytes, stop_);
                        },
                    .stop = stop_};
    SLUICE_LET(ground, CopyGround::open(context_.store, {.settings = settings,
                                                         .copy = options_,
                                                         .rules = std::move(rules),
                                                         .progress = progress_,
                                                         .resumed = context_.state.copy_begun,
                                                         .announce = [this] { bell_.ring(); }}));
    ground_ = std::move(ground);
    SLUICE_TRY(note_begun(true));
    for (const Pass pass :
         {Pass::folders, Pass::files, Pass::links, Pass::deletes, Pass::attributes}) {
      if (pass == Pass::deletes && !options_.remove) continue;
      SLUICE_TRY(run_pass(executor, pass));
    }
    return note_begun(false);
  }

  const CopyProgress& progress() const { return progress_; }

 private:
  Status note_begun(bool begun) {
    State state = context_.state;
    state.copy_begun = begun;
    state.copied = true;
    SLUICE_TRY(context_.store.run([&](kv::Transaction& txn) -> Status {
      txn.put(keys::state(), encode(state));
      return {};
    }));
    context_.state = state;
    return {};
  }

  Status run_pass(runtime::Executor& executor, Pass pass) {
    progress_.pass = static_cast<std::uint8_t>(pass);
    {
      const MutexLock lock(mutex_);
      pass_ = pass;
      rest_ = keys::work_of(pass);
      queue_.clear();
      more_ = true;
      running_ = 0;
    }
    // How much may be removed is counted exactly: one after another.
    const unsigned threads = pass == Pass::deletes ? 1 : options_.threads;
    const std::stop_callback on_stop(stop_, [this] { bell_.ring(); });
    std::latch ended(threads);
    for (unsigned i = 0; i < threads; ++i)
      executor.start({.name = "copy", .step = [this, &ended](Duration wait_max) {
                        const runtime::LoopStep taken = step(wait_max);
                        if (taken == runtime::LoopStep::finished) ended.count_down();
                        return taken;
                      }});
    ended.wait();
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (stop_.stop_requested()) return {Code::cancelled, "stopped before the end"};
    return {};
  }

  enum class What : std::uint8_t { run, help, pull, commit, wait, finish };
  struct Decision {
    What what = What::wait;
    WorkKey work = {};
  };

  runtime::LoopStep step(Duration wait_max) {
    const std::uint32_t heard = bell_.heard();
    const Decision next = decide();
    Status status;
    switch (next.what) {
      case What::run:
        status = run_one(next.work);
        break;
      case What::help:
        ground_->loops.help();
        break;
      case What::pull:
        status = pull();
        break;
      case What::commit:
        status = commit();
        break;
      case What::finish:
        bell_.ring();
        return runtime::LoopStep::finished;
      case What::wait: {
        const MonoTime until =
            wait_max < Duration::max() ? options_.clock->mono() + wait_max : MonoTime::max();
        bell_.wait(*options_.clock, heard, until);
        return runtime::LoopStep::idle;
      }
    }
    if (!status.ok()) {
      const MutexLock lock(mutex_);
      if (failure_.ok()) failure_ = status;
      bell_.ring();
    }
    return runtime::LoopStep::again;
  }

  Decision decide() {
    const MonoTime now = options_.clock->mono();
    const MutexLock lock(mutex_);
    const bool something = !uncommitted_.outcomes.empty();
    if (!failure_.ok()) return {busy_ || running_ != 0 ? What::wait : What::finish};
    const bool due = uncommitted_.bytes >= kCommitBytes ||
                     (something && now - uncommitted_.since >= kCommitEvery);
    const bool stopping = stop_.stop_requested();
    if (something && !busy_ && (due || (stopping && running_ == 0))) return begin(What::commit);
    if (!stopping) {
      if (queue_.empty() && more_ && !busy_) return begin(What::pull);
      if (!queue_.empty() && may_start(queue_.front())) {
        const Decision run{What::run, queue_.front()};
        queue_.pop_front();
        level_ = run.work.level;
        ++running_;
        return run;
      }
      if (ground_->loops.want_help()) return {What::help};
    }
    if (something && !busy_ && running_ == 0) return begin(What::commit);
    const bool nothing_left = stopping || (queue_.empty() && !more_);
    if (nothing_left && !something && !busy_ && running_ == 0) return {What::finish};
    return {What::wait};
  }

  /// A folder is made before those in it, and has its attributes set after them.
  bool may_start(const WorkKey& work) const SLUICE_ANNOTATE(requires_capability(mutex_)) {
    const bool by_level = pass_ == Pass::folders || pass_ == Pass::attributes;
    return !by_level || running_ == 0 || work.level == level_;
  }

  Decision begin(What what) SLUICE_ANNOTATE(requires_capability(mutex_)) {
    busy_ = true;
    return {what};
  }

  Status pull() {
    kv::Range rest;
    bool reverse = false;
    {
      const MutexLock lock(mutex_);
      rest = rest_;
      reverse = pass_ == Pass::attributes;
    }
    std::vector<WorkKey> found;
    std::string last;
    const Status status = context_.store.read([&](kv::Reader& reader) -> Status {
      found.clear();
      SLUICE_LET(rows, reader.scan(rest, {.limit = kUnitsMax, .reverse = reverse}));
      for (const kv::KeyValue& row : rows) {
        SLUICE_LET(key, keys::parse_work(row.key));
        found.push_back(key);
        last = row.key;
      }
      return {};
    });
    const MutexLock lock(mutex_);
    busy_ = false;
    more_ = found.size() == kUnitsMax;
    if (!found.empty()) (reverse ? rest_.end : rest_.begin) = reverse ? last : last + '\0';
    queue_.insert(queue_.end(), found.begin(), found.end());
    bell_.ring();
    return status;
  }

  Status run_one(const WorkKey& work) {
    auto outcome =
        run_unit({.ground = *ground_, .work = work, .stop = stop_, .deletes_left = deletes_left()});
    const MonoTime now = options_.clock->mono();
    const MutexLock lock(mutex_);
    --running_;
    bell_.ring();
    if (!outcome) return outcome.error();
    if (uncommitted_.outcomes.empty()) uncommitted_.since = now;
    deleted_ += outcome->deleted;
    uncommitted_.bytes += outcome->change.bytes() + 64;
    uncommitted_.outcomes.push_back(std::move(*outcome));
    return {};
  }

  std::uint64_t deletes_left() {
    if (!options_.remove_max) return UINT64_MAX;
    const MutexLock lock(mutex_);
    const std::uint64_t gone = context_.state.deleted + deleted_;
    return *options_.remove_max - std::min(*options_.remove_max, gone);
  }

  Status commit() {
    Uncommitted batch;
    {
      const MutexLock lock(mutex_);
      std::swap(batch, uncommitted_);
    }
    Status status;
    // First the files, then the ledger that says that they are there.
    if (options_.sync && ::syncfs(ground_->dst.get()) != 0)
      status = {Code::io_error, "the destination cannot be synced"};
    if (status.ok()) status = write(batch);
    const MutexLock lock(mutex_);
    busy_ = false;
    if (!status.ok() && failure_.ok()) failure_ = status;
    bell_.ring();
    return status;
  }

  Status write(const Uncommitted& batch) {
    State state = context_.state;
    for (const CopyUnitOutcome& outcome : batch.outcomes) state.deleted += outcome.deleted;
    SLUICE_TRY(context_.store.run([&](kv::Transaction& txn) -> Status {
      std::map<FolderId, Tallies> moved;
      Tallies totals;
      for (const CopyUnitOutcome& outcome : batch.outcomes) {
        outcome.change.apply(txn);
        for (const auto& [id, tallies] : outcome.moved)
          for (const auto& [key, delta] : tallies) {
            moved[id][key] += delta;
            totals[key] += delta;
          }
      }
      for (const auto& [id, tallies] : moved) SLUICE_TRY(move_in(txn, id, tallies));
      for (const auto& [key, delta] : totals)
        if (delta != 0) txn.add(keys::tally(key), delta);
      txn.put(keys::state(), encode(state));
      return {};
    }));
    const MutexLock lock(mutex_);
    deleted_ -= state.deleted - context_.state.deleted;
    context_.state = state;
    return {};
  }

  /// A directory's record keeps what it contributed, for the day when it is listed again.
  static Status move_in(kv::Transaction& txn, FolderId id, const Tallies& tallies) {
    SLUICE_LET(folder, read_folder(txn, Side::dst, id));
    if (!folder) return {Code::corrupt, "a directory of the ledger lost its record"};
    for (const auto& [key, delta] : tallies)
      if ((folder->tallies[key] += delta) == 0) folder->tallies.erase(key);
    txn.put(keys::folder(Side::dst, id), encode(*folder));
    return {};
  }

  Context context_;
  const CopyOptions options_;
  std::optional<Limiter> limiter_;
  std::unique_ptr<CopyGround> ground_;
  CopyProgress progress_;
  std::stop_token stop_;
  Bell bell_;
  Mutex mutex_;
  Pass pass_ SLUICE_GUARDED_BY(mutex_) = Pass::folders;
  kv::Range rest_ SLUICE_GUARDED_BY(mutex_);  // Not pulled yet.
  std::deque<WorkKey> queue_ SLUICE_GUARDED_BY(mutex_);
  bool more_ SLUICE_GUARDED_BY(mutex_) = true;
  bool busy_ SLUICE_GUARDED_BY(mutex_) = false;  // Somebody pulls or commits.
  std::uint32_t level_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::size_t running_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t deleted_ SLUICE_GUARDED_BY(mutex_) = 0;  // Not committed yet.
  Uncommitted uncommitted_ SLUICE_GUARDED_BY(mutex_);
  Status failure_ SLUICE_GUARDED_BY(mutex_);
};

Copying::Copying(const Context& context, CopyOptions options)
    : impl_(std::make_unique<Impl>(context, std::move(options))) {}

Copying::~Copying() = default;

Status Copying::run(runtime::Executor& executor, std::stop_token stop) {
  return impl_->run(executor, std::move(stop));
}

const CopyProgress& Copying::progress() const {
  return impl_->progress();
}

}  // namespace sluice::migrate
