// SPDX-License-Identifier: MIT
#include "exec/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "exec/process.h"

// The new process runs these in our memory and in the name of our thread. Sanitizers would take
// what it does to its own descriptors, signals and stack for ours: so no instrumentation, and
// system calls without the C library's wrappers, which sanitizers replace.
#define SLUICE_IN_CHILD \
  __attribute__((noinline, no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

// The C library's clone() by its other name: ThreadSanitizer replaces the usual one by a fork.
extern "C" int __clone(int (*main)(void*), void* stack, int flags, void* argument, ...);

namespace sluice::exec {
namespace {

// Enough for the functions of the new process: all signals are blocked, so no handler runs on it.
constexpr std::size_t kStackBytes = 16 * 1024;
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

struct Child {
  const LaunchPlan* plan;
  pid_t parent;
  // Written by the new process and read by us when it has gone from our memory.
  volatile Step step;
  volatile int error;
  const char* volatile culprit;
};

SLUICE_IN_CHILD bool failed(Child& child, Step step) {
  child.error = errno;
  child.step = step;
  return false;
}

// Exec itself would reset handlers, but not ignored signals; and between the emptying of the mask
// and the exec one of our handlers could run in our memory, in the wrong process.
SLUICE_IN_CHILD void reset_signals() {
  for (int number = 1; number <= kSignalCount; ++number) {
    const KernelAction by_default = {};
    syscall(SYS_rt_sigaction, number, &by_default, nullptr, kSetBytes);
  }
}

SLUICE_IN_CHILD bool detach(Child& child) {
  if (syscall(SYS_setsid) < 0) return failed(child, Step::session);
  if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return failed(child, Step::death_signal);
  // Our process may have died before the line above: nobody would send the signal then.
  if (syscall(SYS_getppid) != child.parent) syscall(SYS_exit_group, 127);
  return true;
}

// A descriptor that is one of the numbers we are about to fill must first get out of the way.
SLUICE_IN_CHILD int above_kept(int fd) {
  if (fd < 0 || fd > kKeptFd) return fd;
  return static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD, kKeptFd + 1));
}

SLUICE_IN_CHILD bool arrange_descriptors(Child& child) {
  const LaunchPlan& plan = *child.plan;
  int output = above_kept(plan.output);
  if (output < 0 && plan.output >= 0) return failed(child, Step::output);
  const int kept = above_kept(plan.kept);
  if (kept < 0 && plan.kept >= 0) return failed(child, Step::kept);
  const int opened = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR));
  const int null = above_kept(opened);
  if (opened < 0 || null < 0) return failed(child, Step::input);
  if (output < 0) output = null;
  if (syscall(SYS_dup3, null, STDIN_FILENO, 0) < 0) return failed(child, Step::input);
  if (syscall(SYS_dup3, output, STDOUT_FILENO, 0) < 0 ||
      syscall(SYS_dup3, output, STDERR_FILENO, 0) < 0)
    return failed(child, Step::output);
  if (kept >= 0 && syscall(SYS_dup3, kept, kKeptFd, 0) < 0) return failed(child, Step::kept);
  // Ours are closed at exec anyway; those of libraries in our process perhaps not.
  const unsigned first = kept >= 0 ? kKeptFd + 1 : kKeptFd;
  if (syscall(SYS_close_range, first, ~0U, 0) != 0) return failed(child, Step::descriptors);
  return true;
}

// Returns only if the path could not be run; errno says why.
SLUICE_IN_CHILD void try_program(const LaunchPlan& plan, const char* path) {
  syscall(SYS_execve, path, plan.argv, plan.env);
  if (errno != ENOEXEC) return;
  plan.shell_argv[1] = const_cast<char*>(path);
  syscall(SYS_execve, plan.shell_argv[0], plan.shell_argv, plan.env);
}

// As execvp() does: what may not be run is passed over, but told if nothing else is found.
SLUICE_IN_CHILD void run_program(Child& child) {
  const char* refused = nullptr;
  for (const char* const* path = child.plan->candidates; *path != nullptr; ++path) {
    try_program(*child.plan, *path);
    if (errno == EACCES && refused == nullptr) refused = *path;
    if (errno == EACCES || errno == ENOENT || errno == ENOTDIR) continue;
    child.culprit = *path;
    failed(child, Step::program);
    return;
  }
  errno = refused != nullptr ? EACCES : ENOENT;
  child.culprit = refused;
  failed(child, Step::program);
}

SLUICE_IN_CHILD bool prepare(Child& child) {
  reset_signals();
  if (!detach(child) || !arrange_descriptors(child)) return false;
  const char* const cwd = child.plan->cwd;
  if (cwd != nullptr && syscall(SYS_chdir, cwd) != 0) return failed(child, Step::directory);
  const std::uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kSetBytes);
  return true;
}

SLUICE_IN_CHILD int child_main(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  if (prepare(child)) run_program(child);
  syscall(SYS_exit_group, 127);
  return 127;
}

// What vfork() does, with a stack of the new process's own, so that no frame of ours is returned
// through twice, and with a pidfd that is of this process for certain.
SLUICE_IN_CHILD pid_t vfork_with_pidfd(Child& child, int& pidfd) {
  alignas(64) std::byte stack[kStackBytes];
  return __clone(child_main, stack + kStackBytes, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
                 &child, &pidfd);
}

}  // namespace

Launched launch(const LaunchPlan& plan) {
  Child child{.plan = &plan, .parent = getpid(), .step = {}, .error = 0, .culprit = nullptr};
  Launched launched;
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, kSetBytes);
  launched.pid = vfork_with_pidfd(child, launched.pidfd);
  launched.error = launched.pid < 0 ? errno : child.error;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, kSetBytes);
  if (launched.pid < 0 || launched.error == 0) return launched;
  launched.step = child.step;
  launched.culprit = child.culprit;
  while (waitpid(launched.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(launched.pidfd);
  return {.error = launched.error, .step = launched.step, .culprit = launched.culprit};
}

}  // namespace sluice::exec
