// SPDX-License-Identifier: MIT
#include "migrate/traversal.h"

#include <algorithm>
#include <array>
#include <latch>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "migrate/pull.h"

namespace sluice::migrate {
namespace {

/// What was found and is not in the ledger yet.
struct Uncommitted {
  std::vector<Change> changes;
  std::vector<TaskName> finished;
  std::vector<FolderTask> unfinished;  // To go on with what is in here: not before it is durable.
  std::array<std::uint64_t, 2> dropped = {};  // Tasks that are only in here, by side.
  std::size_t bytes = 0;
  MonoTime since = {};
};

constexpr unsigned kDoublingsMax = 6;

std::size_t index_of(Side side) {
  return static_cast<std::size_t>(side);
}

/// What a loop does next.
struct Decision {
  /// `rest`: as many as may are at work.
  enum class What : std::uint8_t { run, pull, commit, wait, rest, finish };
  What what = What::wait;
  std::optional<FolderTask> task = {};
  Coordinator::Pull pull = {};
  MonoTime until = MonoTime::max();
};

}  // namespace

class Traversal::Impl {
 public:
  Impl(const Context& context, TraversalOptions options, TraversalProbe probe)
      : context_(context),
        options_(std::move(options)),
        probe_(std::move(probe)),
        next_id_(context.state.next_id),
        tasks_({.store = context.store,
                .src = context.src,
                .dst = context.dst,
                .settings = context.settings,
                .next_id = next_id_,
                .attempts_max = options_.attempts_max,
                .listing_bytes_max = options_.listing_bytes_max}),
        coordinator_(options_.gate) {}

  Status run(runtime::Executor& executor, std::stop_token stop) {
    stop_ = std::move(stop);
    const std::stop_callback on_stop(stop_, [this] { ring_all(); });
    // One more, so that as many are at work while one waits for the disk.
    const unsigned loops = options_.threads > 1 ? options_.threads + 1 : 1;
    std::latch ended(loops);
    for (unsigned i = 0; i < loops; ++i)
      executor.start({.name = "traversal", .step = [this, &ended](Duration wait_max) {
                        const runtime::LoopStep taken = step(wait_max);
                        if (taken == runtime::LoopStep::finished) ended.count_down();
                        return taken;
                      }});
    ended.wait();
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (!coordinator_.done()) return {Code::cancelled, "stopped before the end"};
    return {};
  }

  const TraversalProgress& progress() const { return progress_; }

 private:
  /// Loops sleep on one until it rings.
  struct Bell {
    std::atomic<std::uint32_t> rung = 0;
    std::atomic<std::uint32_t> sleepers = 0;

    void ring() {
      ++rung;
      if (sleepers > 0) Clock::wake(rung);
    }
  };

  runtime::LoopStep step(Duration wait_max) {
    const std::uint32_t heard = work_.rung;
    const std::uint32_t heard_place = place_.rung;
    Decision next = decide();
    Status status;
    switch (next.what) {
      case Decision::What::run:
        status = run_task(*next.task);
        break;
      case Decision::What::pull:
        status = pull(next.pull);
        break;
      case Decision::What::commit:
        status = commit();
        break;
      case Decision::What::finish:
        ring_all();
        return runtime::LoopStep::finished;
      case Decision::What::wait:
        wait(work_, heard, next.until, wait_max);
        return runtime::LoopStep::idle;
      case Decision::What::rest:
        wait(place_, heard_place, MonoTime::max(), wait_max);
        return runtime::LoopStep::idle;
    }
    if (!status.ok()) {
      const MutexLock lock(mutex_);
      if (failure_.ok()) failure_ = status;
      ring_all();
    }
    return runtime::LoopStep::again;
  }

  Decision decide() {
    using What = Decision::What;
    const MonoTime now = options_.clock->mono();
    const MutexLock lock(mutex_);
    const bool something = !uncommitted_.changes.empty();
    const bool may_commit = something && !committing_;
    if (!failure_.ok()) return {.what = committing_ ? What::wait : What::finish};
    if (stop_.stop_requested()) {
      if (may_commit) return begin_commit();
      return {.what = committing_ ? What::wait : What::finish};
    }
    const bool due = uncommitted_.bytes >= options_.commit_bytes ||
                     (something && now - uncommitted_.since >= options_.commit_every);
    if (due && may_commit) return begin_commit();
    if (busy_ == options_.threads) return {.what = What::rest};
    if (const auto pull = coordinator_.needs_pull(); pull.needed && !coordinator_.pulling()) {
      coordinator_.begin_pull();
      ++busy_;
      return {.what = What::pull, .pull = pull};
    }
    // Not faster than the disk takes it.
    if (uncommitted_.bytes < 4 * options_.commit_bytes) {
      Status looked;
      auto task = coordinator_.next(now, [&](const FolderTask& dst) {
        const auto listed = is_listed(dst);
        if (!listed) looked = listed.error();
        return listed.value_or(false);
      });
      if (!looked.ok()) return give_up(looked);
      if (task) {
        ++busy_;
        return {.what = What::run, .task = std::move(task)};
      }
    }
    if (may_commit) return begin_commit();
    if (!something && !committing_ && !coordinator_.pulling() && coordinator_.done())
      return {.what = What::finish};
    return {.what = What::wait, .until = coordinator_.next_due().value_or(MonoTime::max())};
  }

  /// What was put aside for a look that failed would wait for ever.
  Decision give_up(const Status& status) SLUICE_ANNOTATE(requires_capability(mutex_)) {
    failure_ = status;
    ring_all();
    return {.what = committing_ ? Decision::What::wait : Decision::What::finish};
  }

  Decision begin_commit() SLUICE_ANNOTATE(requires_capability(mutex_)) {
    committing_ = true;
    place_.ring();
    return {.what = Decision::What::commit};
  }

  Result<bool> is_listed(const FolderTask& dst) {
    bool listed = false;
    SLUICE_TRY(context_.store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(pending, read_pending(reader, Side::src, dst.level, dst.id));
      listed = !pending.has_value();
      return {};
    }));
    return listed;
  }

  void wait(Bell& bell, std::uint32_t heard, MonoTime until, Duration wait_max) {
    if (wait_max < Duration::max()) until = std::min(until, options_.clock->mono() + wait_max);
    ++bell.sleepers;
    options_.clock->wait(bell.rung, heard, until);
    --bell.sleepers;
  }

  Status run_task(const FolderTask& task) {
    if (probe_.started) probe_.started(task);
    SLUICE_LET(outcome, task.side == Side::src ? tasks_.list(task) : tasks_.compare(task));
    count(task, outcome);
    const MonoTime now = options_.clock->mono();
    const MutexLock lock(mutex_);
    --busy_;
    if (uncommitted_.changes.empty()) uncommitted_.since = now;
    for (FolderTask& child : outcome.children)
      if (!coordinator_.add(std::move(child))) ++uncommitted_.dropped[index_of(task.side)];
    uncommitted_.bytes += outcome.change.bytes();
    uncommitted_.changes.push_back(std::move(outcome.change));
    if (!outcome.again)
      uncommitted_.finished.push_back(name_of(task));
    else if (outcome.failed_attempts == 0)
      uncommitted_.unfinished.push_back(std::move(*outcome.again));
    else
      coordinator_.again(std::move(*outcome.again), now + backoff(outcome.failed_attempts));
    // Children, or something to commit: somebody may be waiting for either.
    work_.ring();
    return {};
  }

  Duration backoff(std::uint32_t failed_attempts) const {
    return options_.backoff * (1 << std::min(failed_attempts - 1, kDoublingsMax));
  }

  void count(const FolderTask& task, const FolderOutcome& outcome) {
    const bool src = task.side == Side::src;
    (src ? progress_.src_entries : progress_.dst_entries) += outcome.entries;
    if (!outcome.again) ++(src ? progress_.src_folders : progress_.dst_folders);
    (src ? progress_.src_level : progress_.dst_level) = task.level;
  }

  Status pull(const Coordinator::Pull& wanted) {
    const auto known = [this](Side side, FolderId id) {
      const MutexLock lock(mutex_);
      return coordinator_.knows(side, id);
    };
    auto pulled = pull_pending(context_.store, wanted.side, wanted.room, known);
    const MutexLock lock(mutex_);
    --busy_;
    if (pulled) coordinator_.pulled(wanted, std::move(pulled->tasks), pulled->all);
    work_.ring();
    return status_of(pulled);
  }

  Status commit() {
    Uncommitted batch;
    {
      const MutexLock lock(mutex_);
      std::swap(batch, uncommitted_);
    }
    const Status status = write(batch);
    if (status.ok() && probe_.durable)
      for (const TaskName& task : batch.finished) probe_.durable(task);
    const MutexLock lock(mutex_);
    committing_ = false;
    work_.ring();
    // In the same breath: what was found since may build on what is lost.
    if (!status.ok() && failure_.ok()) failure_ = status;
    if (!status.ok()) return status;
    for (const TaskName& task : batch.finished) coordinator_.durable(task);
    const MonoTime now = options_.clock->mono();
    for (FolderTask& task : batch.unfinished) coordinator_.again(std::move(task), now);
    for (const Side side : {Side::src, Side::dst})
      coordinator_.dropped_are_durable(side, batch.dropped[index_of(side)]);
    return {};
  }

  /// In the order in which it was found, so that no child comes before its parent.
  Status write(const Uncommitted& batch) {
    for (std::size_t begin = 0; begin < batch.changes.size();) {
      std::size_t end = begin;
      std::size_t bytes = 0;
      while (end < batch.changes.size() &&
             (end == begin || bytes + batch.changes[end].bytes() <= kChangeBytesMax))
        bytes += batch.changes[end++].bytes();
      State state = context_.state;
      state.next_id = next_id_.load();
      Tallies moved;
      for (std::size_t i = begin; i < end; ++i)
        for (const auto& [key, delta] : batch.changes[i].tallies()) {
          moved[key] += delta;
          if (key.what == Tally::drift) state.drifted += static_cast<std::uint64_t>(delta);
        }
      SLUICE_TRY(context_.store.run([&](kv::Transaction& txn) -> Status {
        for (std::size_t i = begin; i < end; ++i) batch.changes[i].apply(txn);
        for (const auto& [key, delta] : moved)
          if (delta != 0) txn.add(keys::tally(key), delta);
        txn.put(keys::state(), encode(state));
        return {};
      }));
      context_.state = state;
      ++progress_.commits;
      begin = end;
    }
    return {};
  }

  void ring_all() {
    work_.ring();
    place_.ring();
  }

  Context context_;
  const TraversalOptions options_;
  const TraversalProbe probe_;
  std::stop_token stop_;
  std::atomic<FolderId> next_id_;
  FolderTasks tasks_;
  TraversalProgress progress_;
  Bell work_;   // There may be something to do.
  Bell place_;  // One that was busy is not for a while.
  Mutex mutex_;
  Coordinator coordinator_ SLUICE_GUARDED_BY(mutex_);
  Uncommitted uncommitted_ SLUICE_GUARDED_BY(mutex_);
  bool committing_ SLUICE_GUARDED_BY(mutex_) = false;
  unsigned busy_ SLUICE_GUARDED_BY(mutex_) = 0;  // At a task; right as long as nothing has failed.
  Status failure_ SLUICE_GUARDED_BY(mutex_);
};

Traversal::Traversal(const Context& context, TraversalOptions options, TraversalProbe probe)
    : impl_(std::make_unique<Impl>(context, std::move(options), std::move(probe))) {}

Traversal::~Traversal() = default;

Status Traversal::run(runtime::Executor& executor, std::stop_token stop) {
  return impl_->run(executor, std::move(stop));
}

const TraversalProgress& Traversal::progress() const {
  return impl_->progress();
}

}  // namespace sluice::migrate
