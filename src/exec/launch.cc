// SPDX-License-Identifier: MIT
#include "exec/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "exec/process.h"
#include "exec/raw_syscall.h"

// The new process runs these in our memory and in the name of our thread. Sanitizers would take
// what it does to its own descriptors, signals and stack for ours: so no instrumentation, and
// nothing is called but what is marked so and raw_syscall(), which is always inlined.
#if defined(__clang__)
// no_sanitize("thread") would leave the counting of calls, which both processes would then do for
// the same thread at once.
#define SLUICE_IN_CHILD __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define SLUICE_IN_CHILD \
  __attribute__((noinline, no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))
#endif

// The C library's clone() by its other name: ThreadSanitizer replaces the usual one by a fork.
extern "C" int __clone(int (*main)(void*), void* stack, int flags, void* argument, ...);

// For tools that know no process in another's memory but one that this one waits for.
#if !defined(SLUICE_LAUNCH_FLAGS)
#define SLUICE_LAUNCH_FLAGS 0
#endif

namespace sluice::exec {
namespace {

constexpr int kSignalCount = 64;
// The kernel's signal set: 64 bits, where the C library's has 1,024.
constexpr std::size_t kSetBytes = 8;

// The kernel's struct sigaction; all zeros is SIG_DFL.
struct KernelAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};

std::uint64_t set_signal_mask(std::uint64_t mask) {
  std::uint64_t before = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, kSetBytes);
  return before;
}

}  // namespace

/// What the new process does until its program is loaded.
struct LaunchedChild {
  SLUICE_IN_CHILD static int main(void* launch);
  SLUICE_IN_CHILD static bool prepare(Launch& launch);
  SLUICE_IN_CHILD static void reset_signals();
  SLUICE_IN_CHILD static bool detach(Launch& launch);
  SLUICE_IN_CHILD static bool arrange_descriptors(Launch& launch);
  SLUICE_IN_CHILD static long above_kept(int fd);
  SLUICE_IN_CHILD static void run_program(Launch& launch);
  SLUICE_IN_CHILD static long try_program(const LaunchPlan& plan, const char* path);
  /// Of a result that is negative.
  SLUICE_IN_CHILD static bool failed(Launch& launch, Step step, long result);
};

int LaunchedChild::main(void* argument) {
  Launch& launch = *static_cast<Launch*>(argument);
  if (prepare(launch)) run_program(launch);
  raw_syscall(SYS_exit_group, 127);
  return 127;
}

bool LaunchedChild::prepare(Launch& launch) {
  reset_signals();
  if (!detach(launch) || !arrange_descriptors(launch)) return false;
  if (const char* const cwd = launch.plan_.cwd; cwd != nullptr)
    if (const long rc = raw_syscall(SYS_chdir, cwd); rc < 0)
      return failed(launch, Step::directory, rc);
  const std::uint64_t none = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kSetBytes);
  return true;
}

bool LaunchedChild::failed(Launch& launch, Step step, long result) {
  launch.error_ = static_cast<int>(-result);
  launch.step_ = step;
  return false;
}

// Exec itself would reset handlers, but not ignored signals; and between the emptying of the mask
// and the exec one of our handlers could run in our memory, in the wrong process.
void LaunchedChild::reset_signals() {
  const KernelAction by_default = {};
  for (int number = 1; number <= kSignalCount; ++number)
    raw_syscall(SYS_rt_sigaction, number, &by_default, nullptr, kSetBytes);
}

bool LaunchedChild::detach(Launch& launch) {
  if (const long rc = raw_syscall(SYS_setsid); rc < 0) return failed(launch, Step::session, rc);
  if (const long rc = raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); rc < 0)
    return failed(launch, Step::death_signal, rc);
  // Our process may have died before the line above: nobody would send the signal then.
  if (raw_syscall(SYS_getppid) != launch.parent_) raw_syscall(SYS_exit_group, 127);
  return true;
}

// A descriptor that is one of the numbers we are about to fill must first get out of the way.
long LaunchedChild::above_kept(int fd) {
  if (fd < 0 || fd > kKeptFd) return fd;
  return raw_syscall(SYS_fcntl, fd, F_DUPFD, kKeptFd + 1);
}

bool LaunchedChild::arrange_descriptors(Launch& launch) {
  const LaunchPlan& plan = launch.plan_;
  long output = above_kept(plan.output);
  if (output < 0 && plan.output >= 0) return failed(launch, Step::output, output);
  const long kept = above_kept(plan.kept);
  if (kept < 0 && plan.kept >= 0) return failed(launch, Step::kept, kept);
  const long null = above_kept(plan.null);
  if (null < 0) return failed(launch, Step::input, null);
  if (output < 0) output = null;
  if (const long rc = raw_syscall(SYS_dup3, null, STDIN_FILENO, 0); rc < 0)
    return failed(launch, Step::input, rc);
  if (const long rc = raw_syscall(SYS_dup3, output, STDOUT_FILENO, 0); rc < 0)
    return failed(launch, Step::output, rc);
  if (const long rc = raw_syscall(SYS_dup3, output, STDERR_FILENO, 0); rc < 0)
    return failed(launch, Step::output, rc);
  if (kept >= 0)
    if (const long rc = raw_syscall(SYS_dup3, kept, kKeptFd, 0); rc < 0)
      return failed(launch, Step::kept, rc);
  // Ours are closed at exec anyway; those of libraries in our process perhaps not.
  const unsigned first = kept >= 0 ? kKeptFd + 1 : kKeptFd;
  if (const long rc = raw_syscall(SYS_close_range, first, ~0U, 0); rc < 0)
    return failed(launch, Step::descriptors, rc);
  return true;
}

// As execvp() does: what may not be run is passed over, but told if nothing else is found.
void LaunchedChild::run_program(Launch& launch) {
  const char* refused = nullptr;
  for (const char* const* path = launch.plan_.candidates; *path != nullptr; ++path) {
    const long rc = try_program(launch.plan_, *path);
    if (rc == -EACCES && refused == nullptr) refused = *path;
    if (rc == -EACCES || rc == -ENOENT || rc == -ENOTDIR) continue;
    launch.culprit_ = *path;
    failed(launch, Step::program, rc);
    return;
  }
  launch.culprit_ = refused;
  failed(launch, Step::program, refused != nullptr ? -EACCES : -ENOENT);
}

// Returns only if the path could not be run.
long LaunchedChild::try_program(const LaunchPlan& plan, const char* path) {
  const long rc = raw_syscall(SYS_execve, path, plan.argv, plan.env);
  if (rc != -ENOEXEC) return rc;
  plan.shell_argv[1] = const_cast<char*>(path);
  return raw_syscall(SYS_execve, plan.shell_argv[0], plan.shell_argv, plan.env);
}

// A process in our memory, as vfork() makes it, but with a stack of its own, so that we need not
// stand still until its program is loaded; and with a pidfd that is of this process for certain.
int Launch::start(const LaunchPlan& plan) {
  plan_ = plan;
  parent_ = getpid();
  const std::uint64_t before = set_signal_mask(~std::uint64_t{0});
  pid_ = __clone(LaunchedChild::main, stack_ + kStackBytes,
                 CLONE_VM | CLONE_PIDFD | SLUICE_LAUNCH_FLAGS | SIGCHLD, this, &pidfd_);
  const int error = pid_ < 0 ? errno : 0;
  set_signal_mask(before);
  return error;
}

}  // namespace sluice::exec
