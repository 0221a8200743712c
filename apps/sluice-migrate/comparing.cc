// SPDX-License-Identifier: MIT
#include "sluice-migrate/comparing.h"

#include <sluice/runtime/executor.h>

#include <optional>
#include <utility>

#include "cli/duration.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "migrate/begin.h"
#include "migrate/retry.h"
#include "migrate/traversal.h"
#include "sluice-migrate/progress.h"
#include "sluice-migrate/roots.h"
#include "sluice-migrate/summary.h"

namespace sluice::cli {
namespace {

/// How often the counters of the ledger are read for the progress line.
constexpr Duration kLookInterval = std::chrono::seconds(1);
constexpr double kEtaSecondsMax = 100.0 * 24 * 3600;

/// The line that tells how far listing has come.
class ComparingLine {
 public:
  ComparingLine(const Clock& clock, kv::Store& store, const migrate::TraversalProgress& progress)
      : clock_(clock), store_(store), progress_(progress) {
    look(clock_.mono());
  }

  std::string operator()() {
    const MonoTime now = clock_.mono();
    const std::uint64_t entries = progress_.src_entries + progress_.dst_entries;
    entries_.add(entries, now);
    folders_.add(progress_.src_folders + progress_.dst_folders, now);
    if (now - looked_at_ >= kLookInterval) look(now);
    std::string text = "compare: " + plural(entries, "name");
    if (const auto rate = entries_.per_second())
      text += "  " + format_count(static_cast<std::uint64_t>(*rate)) + "/s";
    text += "  levels " + std::to_string(progress_.src_level) + "/" +
            std::to_string(progress_.dst_level);
    if (bytes_ != 0) text += "  " + format_size(bytes_);
    return text + eta();
  }

 private:
  void look(MonoTime now) {
    looked_at_ = now;
    if (const auto summary = read_summary(store_)) {
      pending_ = summary->pending();
      bytes_ = summary->src_bytes();
    }
  }

  /// Of the directories that are known by now: more may be found in them.
  std::string eta() const {
    const double rate = folders_.per_second().value_or(0);
    if (!(rate > 0) || pending_ == 0) return "";
    const double seconds = static_cast<double>(pending_) / rate;
    if (!(seconds >= 1 && seconds <= kEtaSecondsMax)) return "";
    return "  ETA >" + format_duration(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
  }

  const Clock& clock_;
  kv::Store& store_;
  const migrate::TraversalProgress& progress_;
  RateMeter entries_;
  RateMeter folders_;
  MonoTime looked_at_ = {};
  std::uint64_t pending_ = 0;
  std::uint64_t bytes_ = 0;
};

/// With --again: everything is pending once more. What a run left unfinished is finished instead.
Status list_again(const Context& context, kv::Store& store) {
  const auto marked = migrate::mark_for_retry(store, {.all = true});
  if (marked || marked.error().code() != Code::conflict) return status_of(marked);
  context.note("--again: a run that was not finished goes on first");
  return {};
}

Result<bool> is_begun(kv::Store& store) {
  bool begun = false;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(settings, migrate::read_settings(reader));
    begun = settings.has_value();
    return {};
  }));
  return begun;
}

}  // namespace

Result<Compared> compare_trees(const Context& context, CompareWish wish, const TellingWish& telling,
                               const Interrupts& interrupts) {
  migrate::Settings settings = std::move(wish.settings);
  settings.src = std::move(wish.src);
  settings.dst = std::move(wish.dst);
  SLUICE_LET(dir, context.state_dir());
  SLUICE_TRY(resolve_roots(settings, dir));
  SLUICE_LET(roots, open_roots(settings, context.clock()));
  // Of what a made-up tree does, its name leaves out what does not change its files.
  settings.src = roots.src->name();
  settings.dst = roots.dst->name();
  SLUICE_LET(ledger, context.own_or_make());
  kv::Store& store = *ledger.store;
  SLUICE_LET(begun, is_begun(store));
  SLUICE_LET(state, migrate::begin_ledger(store, settings, *roots.src, *roots.dst));
  if (begun && wish.again) {
    SLUICE_TRY(list_again(context, store));
    // Once more, for the roots themselves.
    SLUICE_LET(refreshed, migrate::begin_ledger(store, settings, *roots.src, *roots.dst));
    state = refreshed;
  }
  SLUICE_TRY(migrate::drop_vanished(store));
  wish.traversal.clock = &context.clock();
  wish.traversal.own_descriptors = true;
  migrate::Traversal traversal(
      {.store = store, .src = *roots.src, .dst = *roots.dst, .settings = settings, .state = state},
      wish.traversal);
  {
    runtime::ThreadExecutor executor;
    const Progress progress(
        {.mode = telling.progress, .terminal = context.err(), .clock = context.clock()},
        ComparingLine(context.clock(), store, traversal.progress()));
    SLUICE_TRY(traversal.run(executor, interrupts.token()));
  }
  SLUICE_TRY(migrate::drop_vanished(store));
  return Compared{.ledger = std::move(ledger), .settings = std::move(settings), .state = state};
}

Result<std::unique_ptr<Interrupts>> open_interrupts(const Context& context) {
  return Interrupts::open([&context] {
    context.note("stopping: what is done is kept; a second Ctrl-C ends it at once");
  });
}

int interrupted(const Context& context) {
  context.note("interrupted; the same command again continues where it was");
  return kInterrupted;
}

}  // namespace sluice::cli
