// SPDX-License-Identifier: MIT
#include "migrate/traversal.h"

#include <algorithm>
#include <latch>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "migrate/bell.h"
#include "migrate/own_descriptors.h"
#include "migrate/pull.h"
#include "migrate/uncommitted.h"

namespace sluice::migrate {
namespace {

constexpr unsigned kDoublingsMax = 6;
constexpr unsigned kTasksAtOnceMax = 8;
/// Of the tasks that are ready, a worker takes one part in so many, divided by the workers.
constexpr unsigned kShares = 8;
/// What was found is told to the others after so long, also if the worker has more to do.
constexpr Duration kHeldBackMax = std::chrono::milliseconds(1);
/// Directories whose commit is noted before the lock is given to others.
constexpr std::size_t kNotedAtOnce = 64;

std::size_t index_of(Side side) {
  return static_cast<std::size_t>(side);
}

/// What a loop is for.
enum class Role : std::uint8_t { worker, committer, both };

/// What a loop does next.
struct Decision {
  enum class What : std::uint8_t { run, pull, commit, wait, finish };
  What what = What::wait;
  std::vector<FolderTask> tasks = {};
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
                .fresh = fresh_,
                .attempts_max = options_.attempts_max,
                .listing_bytes_max = options_.listing_bytes_max}),
        coordinator_(options_.gate) {}

  Status run(runtime::Executor& executor, std::stop_token stop) {
    stop_ = std::move(stop);
    const std::stop_callback on_stop(stop_, [this] { ring_all(); });
    // One more that commits, and nothing else: who is at work need not wait for the disk, and stays
    // on its core.
    const unsigned loops = options_.threads > 1 ? options_.threads + 1 : 1;
    std::latch ended(loops);
    for (unsigned i = 0; i < loops; ++i) {
      const Role role = loops == 1             ? Role::both
                        : i < options_.threads ? Role::worker
                                               : Role::committer;
      bool own = options_.own_descriptors && role != Role::committer;
      executor.start(
          {.name = "traversal", .step = [this, role, &ended, own](Duration wait_max) mutable {
             // Where it is not allowed it goes without.
             if (std::exchange(own, false)) (void)take_own_descriptors();
             const runtime::LoopStep taken = step(role, wait_max);
             if (taken == runtime::LoopStep::finished) ended.count_down();
             return taken;
           }});
    }
    ended.wait();
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (!coordinator_.done()) return {Code::cancelled, "stopped before the end"};
    return {};
  }

  const TraversalProgress& progress() const { return progress_; }

 private:
  struct Done {
    const FolderTask& task;
    FolderOutcome outcome;
  };

  runtime::LoopStep step(Role role, Duration wait_max) {
    Bell& bell = role == Role::committer ? commits_ : work_;
    const std::uint32_t heard = bell.heard();
    Decision next = decide(role);
    Status status;
    switch (next.what) {
      case Decision::What::run:
        status = run_tasks(next.tasks);
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
        wait(bell, heard, next.until, wait_max);
        return runtime::LoopStep::idle;
    }
    if (!status.ok()) {
      const MutexLock lock(mutex_);
      if (failure_.ok()) failure_ = status;
      ring_all();
    }
    return runtime::LoopStep::again;
  }

  Decision decide(Role role) {
    using What = Decision::What;
    const MonoTime now = options_.clock->mono();
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return {.what = committing_ ? What::wait : What::finish};
    const bool stopping = stop_.stop_requested();
    const bool something = !uncommitted_.empty();
    const bool due = is_due(now);
    if (role != Role::committer && !stopping) {
      if (due && may_commit(role)) return begin_commit();
      if (due) ask_for_commit();
      if (auto work = next_work(now)) return std::move(*work);
    }
    const bool wanted = due || stopping || asked_ || role == Role::both;
    if (wanted && may_commit(role)) return begin_commit();
    if (something && role == Role::worker) ask_for_commit();
    if (is_over(role, stopping)) return {.what = What::finish};
    const auto until = role == Role::committer ? std::nullopt : coordinator_.next_due();
    return {.what = What::wait, .until = until.value_or(MonoTime::max())};
  }

  bool is_due(MonoTime now) const SLUICE_ANNOTATE(requires_capability(mutex_)) {
    return uncommitted_.bytes >= options_.commit_bytes ||
           (!uncommitted_.empty() && now - uncommitted_.since >= options_.commit_every);
  }

  bool may_commit(Role role) const SLUICE_ANNOTATE(requires_capability(mutex_)) {
    return role != Role::worker && !uncommitted_.empty() && !committing_;
  }

  /// Of a worker that can do nothing before it, or finds it due.
  void ask_for_commit() SLUICE_ANNOTATE(requires_capability(mutex_)) {
    if (committing_ || asked_) return;
    asked_ = true;
    commits_.ring();
  }

  /// Whoever commits is the last to go: others may still find something.
  bool is_over(Role role, bool stopping) const SLUICE_ANNOTATE(requires_capability(mutex_)) {
    if (committing_ || !uncommitted_.empty()) return false;
    if (role == Role::committer && busy_ > 0) return false;
    return stopping || (!coordinator_.pulling() && coordinator_.done());
  }

  std::optional<Decision> next_work(MonoTime now) SLUICE_ANNOTATE(requires_capability(mutex_)) {
    using What = Decision::What;
    if (const auto pull = coordinator_.needs_pull(); pull.needed && !coordinator_.pulling()) {
      coordinator_.begin_pull();
      ++busy_;
      return Decision{.what = What::pull, .pull = pull};
    }
    // Not faster than the disk takes it.
    if (uncommitted_.bytes >= 4 * options_.commit_bytes) return std::nullopt;
    Decision run{.what = What::run};
    const std::size_t share = tasks_at_once();
    while (run.tasks.size() < share) {
      Status looked;
      auto task = coordinator_.next(now, [&](const FolderTask& dst) {
        const auto listed = is_listed(dst);
        if (!listed) looked = listed.error();
        return listed.value_or(false);
      });
      if (!looked.ok()) return give_up(looked);
      if (!task) break;
      run.tasks.push_back(std::move(*task));
    }
    if (run.tasks.empty()) return std::nullopt;
    ++busy_;
    return run;
  }

  /// Where there are plenty, a worker takes several: they meet less often, over the lock and the
  /// memory that it guards. Where there are few, all of them must have one. Who is alone has to
  /// look after the commits as well.
  std::size_t tasks_at_once() const SLUICE_ANNOTATE(requires_capability(mutex_)) {
    if (options_.threads == 1) return 1;
    const std::size_t share = coordinator_.ready() / (std::size_t{kShares} * options_.threads);
    return std::clamp<std::size_t>(share, 1, kTasksAtOnceMax);
  }

  /// What was put aside for a look that failed would wait for ever.
  Decision give_up(const Status& status) SLUICE_ANNOTATE(requires_capability(mutex_)) {
    failure_ = status;
    ring_all();
    return {.what = committing_ ? Decision::What::wait : Decision::What::finish};
  }

  Decision begin_commit() SLUICE_ANNOTATE(requires_capability(mutex_)) {
    committing_ = true;
    asked_ = false;
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
    bell.wait(*options_.clock, heard, until);
  }

  Status run_tasks(const std::vector<FolderTask>& tasks) {
    std::vector<Done> done;
    MonoTime begun = options_.clock->mono();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const FolderTask& task = tasks[i];
      if (probe_.started) probe_.started(task);
      SLUICE_LET(outcome, task.side == Side::src ? tasks_.list(task) : tasks_.compare(task));
      const bool large = outcome.change.bytes() >= options_.commit_bytes;
      done.push_back({.task = task, .outcome = std::move(outcome)});
      const MonoTime now = options_.clock->mono();
      // What is left when it is to stop stays pending.
      const bool last = i + 1 == tasks.size() || stop_.stop_requested();
      if (!last && !large && now - begun < kHeldBackMax) continue;
      deliver(done, last, now);
      if (last) break;
      done.clear();
      begun = now;
    }
    return {};
  }

  void deliver(std::vector<Done>& done, bool last, MonoTime now) {
    const MutexLock lock(mutex_);
    if (last) --busy_;
    if (uncommitted_.empty()) uncommitted_.since = now;
    for (Done& each : done) take(each.task, each.outcome, now);
    if (!last && is_due(now)) ask_for_commit();
    // Children, or something to commit: somebody may be waiting for either.
    work_.ring();
    if (stop_.stop_requested()) commits_.ring();
  }

  void take(const FolderTask& task, FolderOutcome& outcome, MonoTime now)
      SLUICE_ANNOTATE(requires_capability(mutex_)) {
    count(task, outcome);
    for (FolderTask& child : outcome.children)
      if (!coordinator_.add(std::move(child))) ++uncommitted_.dropped[index_of(task.side)];
    uncommitted_.add(outcome.change);
    if (!outcome.again)
      uncommitted_.finished.push_back(name_of(task));
    else if (outcome.failed_attempts == 0)
      uncommitted_.unfinished.push_back(std::move(*outcome.again));
    else
      coordinator_.again(std::move(*outcome.again), now + backoff(outcome.failed_attempts));
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
    {
      const MutexLock lock(mutex_);
      std::swap(batch_, uncommitted_);
    }
    const Status status = write(batch_);
    if (status.ok() && probe_.durable)
      for (const TaskName& task : batch_.finished) probe_.durable(task);
    MutexLock lock(mutex_);
    if (!status.ok()) {
      committing_ = false;
      work_.ring();
      // In the same breath: what was found since may build on what is lost.
      if (failure_.ok()) failure_ = status;
      return status;
    }
    for (std::size_t i = 0; i < batch_.finished.size(); ++i) {
      coordinator_.durable(batch_.finished[i]);
      if ((i + 1) % kNotedAtOnce != 0) continue;
      // Others may go on with these meanwhile.
      work_.ring();
      lock.unlock();
      lock.lock();
    }
    committing_ = false;
    work_.ring();
    const MonoTime now = options_.clock->mono();
    for (FolderTask& task : batch_.unfinished) coordinator_.again(std::move(task), now);
    for (const Side side : {Side::src, Side::dst})
      coordinator_.dropped_are_durable(side, batch_.dropped[index_of(side)]);
    batch_.clear();
    return {};
  }

  Status write(const Uncommitted& batch) {
    for (const Change& change : batch.changes) {
      if (change.empty()) continue;
      State state = context_.state;
      state.next_id = next_id_.load();
      for (const auto& [key, delta] : change.tallies())
        if (key.what == Tally::drift) state.drifted += static_cast<std::uint64_t>(delta);
      SLUICE_TRY(context_.store.run([&](kv::Transaction& txn) -> Status {
        change.apply(txn);
        for (const auto& [key, delta] : change.tallies())
          if (delta != 0) txn.add(keys::tally(key), delta);
        txn.put(keys::state(), encode(state));
        return {};
      }));
      context_.state = state;
      ++progress_.commits;
    }
    return {};
  }

  void ring_all() {
    work_.ring();
    commits_.ring();
  }

  Context context_;
  const TraversalOptions options_;
  const TraversalProbe probe_;
  std::stop_token stop_;
  std::atomic<FolderId> next_id_;
  FreshListings fresh_;
  FolderTasks tasks_;
  TraversalProgress progress_;
  Bell work_;     // There may be something to do.
  Bell commits_;  // There may be something to commit.
  Mutex mutex_;
  Coordinator coordinator_ SLUICE_GUARDED_BY(mutex_);
  Uncommitted uncommitted_ SLUICE_GUARDED_BY(mutex_);
  Uncommitted batch_;  // Of whoever is committing; else empty.
  bool committing_ SLUICE_GUARDED_BY(mutex_) = false;
  bool asked_ SLUICE_GUARDED_BY(mutex_) = false;  // For a commit, which has not begun.
  unsigned busy_ SLUICE_GUARDED_BY(mutex_) = 0;   // At a task; right as long as nothing has failed.
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
