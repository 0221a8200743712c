// SPDX-License-Identifier: MIT
#include "exec/process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "exec/proc_files.h"
#include "exec/process.h"

namespace sluice::exec {
namespace {

constexpr pid_t kInit = 1;
constexpr Duration kPauseFirst = std::chrono::milliseconds(1);
constexpr Duration kPauseMax = std::chrono::milliseconds(50);
// Between the clock's word before a process is started and the kernel's of when it was.
constexpr Duration kStartTolerance = std::chrono::seconds(1);

// Finds the processes of some trees, at several moments. Remembers their sessions: the marked ones
// of a session may be gone at the next look, and others that they started not yet.
class Finder {
 public:
  struct Look {
    std::vector<pid_t> found;  // Sorted.
    bool clear = true;         // No process was just being loaded, and so without a mark to see.
  };

  using Visit = std::function<void(const ProcessLine&)>;

  Finder(const LockFile& locks, std::span<const TreeMark> marks) : locks_(locks) {
    for (const TreeMark& mark : marks) {
      entries_.insert(mark.env);
      offsets_.push_back(LockFile::offset_of(mark.lock));
      if (may_be_of_a_tree(mark.session.id) && !is_another(mark.session))
        sessions_.insert(mark.session.id);
    }
    std::ranges::sort(offsets_);
  }

  // Calls `visit` for each that belongs, right after it was seen: it may live for a moment only.
  Result<Look> look(const Visit& visit) {
    const auto pids = read_pids();
    if (!pids) return error(Code::unavailable, "cannot read /proc: mount it, then try again");
    Look look;
    std::set<pid_t> present;
    std::vector<std::pair<ProcessLine, Answer>> others;
    for (const pid_t pid : *pids) {
      const auto process = read_process(pid);
      if (!process) continue;
      present.insert(process->session);
      if (!process->lives || pid == self_) continue;
      const Answer answer = owns_session(process->session) ? Answer::yes : is_marked(pid);
      if (answer == Answer::yes)
        add(*process, look, visit);
      else
        others.emplace_back(*process, answer);
    }
    for (const auto& [process, answer] : others) {
      if (owns_session(process.session))
        add_if_still_there(process, look, visit);
      else if (answer == Answer::unclear)
        look.clear = false;
    }
    // A session without a process is over, and its number may become another's.
    std::erase_if(sessions_, [&](pid_t session) { return !present.contains(session); });
    std::ranges::sort(look.found);
    return look;
  }

  // Whether all processes of the session belong.
  bool owns_session(pid_t session) const { return sessions_.contains(session); }

 private:
  // A tree starts in a session of its own, so these say nothing: ours, that of init, and 0, by
  // which the kernel means every session from outside this pid namespace.
  bool may_be_of_a_tree(pid_t session) const { return session > kInit && session != own_session_; }

  // Whether the number has been given to another process since.
  static bool is_another(const TreeMark::Session& session) {
    const auto leader = read_process(session.id);
    if (!leader) return false;
    const Duration tick = Duration(std::chrono::seconds(1)) / ::sysconf(_SC_CLK_TCK);
    const MonoTime started(static_cast<Duration::rep>(leader->started) * tick);
    return std::chrono::abs(started - session.started) > kStartTolerance;
  }

  void add(const ProcessLine& process, Look& look, const Visit& visit) {
    look.found.push_back(process.pid);
    if (may_be_of_a_tree(process.session)) sessions_.insert(process.session);
    visit(process);
  }
  void add_if_still_there(const ProcessLine& before, Look& look, const Visit& visit) {
    const auto now = read_process(before.pid);
    if (now && now->lives && now->started == before.started && now->session == before.session)
      add(*now, look, visit);
  }

  Answer is_marked(pid_t pid) const {
    const Answer by_env =
        any_env_entry(pid, [&](std::string_view entry) { return entries_.contains(entry); });
    if (by_env == Answer::yes) return by_env;
    const bool by_lock =
        any_held_range(pid, kKeptFd, [&](const HeldRange& range) { return is_ours(range); });
    return by_lock ? Answer::yes : by_env;
  }
  bool is_ours(const HeldRange& range) const {
    if (range.file != locks_.identity()) return false;
    const auto at = std::ranges::lower_bound(offsets_, range.first);
    return at != offsets_.end() && *at <= range.last;
  }

  const LockFile& locks_;
  std::set<std::string, std::less<>> entries_;
  std::vector<std::uint64_t> offsets_;  // Sorted.
  const pid_t self_ = ::getpid();
  const pid_t own_session_ = ::getsid(0);
  std::set<pid_t> sessions_;
};

Status check(std::span<const TreeMark> marks) {
  for (const TreeMark& mark : marks)
    if (const std::size_t sign = mark.env.find('='); sign == std::string::npos || sign == 0)
      return error(Code::invalid_argument,
                   "the mark '" + mark.env + "' is not NAME=value: correct it");
  return {};
}

// `process` was seen a moment ago. In a session that belongs, the whole group goes at once: one
// that forks and ends all the time would be gone whenever its own number is signalled, but the
// kernel lets nothing fork out of a group that is being killed. kill() takes the groups 0 and 1 for
// "our own" and "everybody". Elsewhere the pidfd and the second look make it certain that the
// number is not another's by now.
void kill_seen(const ProcessLine& process, const Finder& finder) {
  if (finder.owns_session(process.session) && process.group > kInit) {
    ::kill(-process.group, SIGKILL);
    return;
  }
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  const auto now = read_process(process.pid);
  if (pidfd.valid() && now && now->started == process.started)
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

Result<std::optional<std::uint64_t>> first_held(const LockFile& locks,
                                                std::span<const TreeMark> marks) {
  for (const TreeMark& mark : marks) {
    SLUICE_LET(held, locks.held(mark.lock));
    if (held) return std::optional(mark.lock);
  }
  return std::optional<std::uint64_t>();
}

Failure would_not_go(const std::vector<pid_t>& found) {
  std::string pids;
  for (const pid_t pid : found) pids += " " + std::to_string(pid);
  return error(Code::unavailable,
               "these processes of a tree that is to end did not go by SIGKILL in time:" + pids +
                   "; look what they wait for (/proc/PID/stack), then try again");
}

Failure still_held(const LockFile& locks, std::uint64_t place) {
  return error(Code::unavailable, "place " + std::to_string(place) + " of the lock file " +
                                      locks.path() +
                                      " is held by a process that cannot be seen from here; end "
                                      "it (another user's, or in another container), then try "
                                      "again");
}

}  // namespace

Result<std::vector<pid_t>> find_trees(const LockFile& locks, std::span<const TreeMark> marks) {
  SLUICE_TRY(check(marks));
  SLUICE_LET(look, Finder(locks, marks).look([](const ProcessLine&) {}));
  return std::move(look.found);
}

Status end_trees(const LockFile& locks, std::span<const TreeMark> marks, const Clock& clock,
                 Duration patience) {
  SLUICE_TRY(check(marks));
  if (marks.empty()) return {};
  const MonoTime start = clock.mono();
  Finder finder(locks, marks);
  for (Duration pause = kPauseFirst;; pause = std::min(2 * pause, kPauseMax)) {
    SLUICE_LET(look, finder.look([&](const ProcessLine& seen) { kill_seen(seen, finder); }));
    SLUICE_LET(held, first_held(locks, marks));
    const bool nothing = look.found.empty() && !held;
    if (nothing && look.clear) return {};
    if (clock.mono() - start >= patience) {
      // Whoever has been loading for so long is a stranger with trouble of its own.
      if (nothing) return {};
      return look.found.empty() ? still_held(locks, *held) : would_not_go(look.found);
    }
    clock.sleep_for(pause, {});
  }
}

bool holds_lock(pid_t pid, const LockFile& locks, std::uint64_t place) {
  const std::uint64_t offset = LockFile::offset_of(place);
  return any_held_range(pid, kKeptFd, [&](const HeldRange& range) {
    return range.file == locks.identity() && range.first <= offset && offset <= range.last;
  });
}

}  // namespace sluice::exec
