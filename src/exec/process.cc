// SPDX-License-Identifier: MIT
#include "exec/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"
#include "base/mutex.h"
#include "exec/errno_status.h"
#include "exec/launch.h"

namespace sluice::exec {
namespace {

// What execvp() looks through if there is no PATH.
constexpr std::string_view kPathByDefault = "/bin:/usr/bin";

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Status check(const Command& command) {
  const std::vector<std::string>& argv = command.argv;
  const std::vector<std::string>& env = command.env;
  if (argv.empty() || argv[0].empty())
    return error(Code::invalid_argument, "there is no program to run: name one as argv[0]");
  if (std::ranges::any_of(argv, has_nul) || std::ranges::any_of(env, has_nul) ||
      has_nul(command.cwd))
    return error(Code::invalid_argument,
                 "a NUL byte in argv, env or cwd would cut it short: remove it, or use a file");
  for (const std::string& entry : env)
    if (const std::size_t sign = entry.find('='); sign == std::string::npos || sign == 0)
      return error(Code::invalid_argument,
                   "the environment entry '" + entry + "' is not NAME=value: correct it");
  return {};
}

std::string_view path_of(const Command& command) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string_view entry : command.env)
    if (entry.starts_with(kName)) return entry.substr(kName.size());
  return kPathByDefault;
}

std::vector<std::string> candidates_of(const Command& command) {
  const std::string& program = command.argv[0];
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> candidates;
  const std::string_view path = path_of(command);
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty part is the working directory.
    const std::string_view part = end == begin ? "." : path.substr(begin, end - begin);
    candidates.push_back(std::string(part) + "/" + program);
    begin = end + 1;
  }
  return candidates;
}

// Opened once and kept: every process needs it.
Result<int> null_device() {
  static Mutex mutex;
  static Descriptor device;
  const MutexLock lock(mutex);
  if (!device.valid()) device.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!device.valid()) return system_failure(errno, "cannot open /dev/null");
  return device.get();
}

// The kernel takes them as `char*` and changes nothing.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 2);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Failure program_failure(const Command& command, const Launch& launch) {
  const std::string& program = command.argv[0];
  if (launch.error() != ENOENT)
    return system_failure(launch.error(), "cannot run " + std::string(launch.culprit()));
  if (program.find('/') != std::string::npos)
    return error(Code::not_found, program +
                                      ": command not found; correct the path, or install the "
                                      "interpreter that its first line names");
  return error(Code::not_found, program + ": command not found; install it, or correct the PATH=" +
                                    std::string(path_of(command)) + " of its environment");
}

Failure directory_failure(const Command& command, int number) {
  const std::string directory = "the working directory " + command.cwd;
  if (number == ENOENT)
    return error(Code::not_found, directory + " does not exist; make it, or name another");
  return system_failure(number, directory + " cannot be entered");
}

std::string starting(const Command& command) {
  return "cannot start " + command.argv[0] + ": ";
}

Failure launch_failure(const Command& command, const Launch& launch) {
  switch (launch.step()) {
    case Step::program:
      return program_failure(command, launch);
    case Step::directory:
      return directory_failure(command, launch.error());
    case Step::session:
      return system_failure(launch.error(), starting(command) + "no session of its own");
    case Step::death_signal:
      return system_failure(launch.error(), starting(command) + "its life cannot be tied to ours");
    case Step::input:
      return system_failure(launch.error(), starting(command) + "/dev/null as its standard input");
    case Step::output:
      return system_failure(launch.error(), starting(command) + "its output");
    case Step::kept:
      return system_failure(launch.error(), starting(command) + "the descriptor it is to keep");
    case Step::descriptors:
      return system_failure(launch.error(),
                            starting(command) + "our descriptors cannot be closed in it");
  }
  SLUICE_CHECK(false);
}

Duration duration_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

Ending ending_of(int status, const rusage& usage) {
  Ending ending;
  if (WIFSIGNALED(status))
    ending.signal = WTERMSIG(status);
  else
    ending.exit_code = WEXITSTATUS(status);
  ending.usage = {.user = duration_of(usage.ru_utime),
                  .system = duration_of(usage.ru_stime),
                  .rss_bytes_max = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
  return ending;
}

}  // namespace

/// A command as the kernel takes it, and its launch.
struct Process::Launching {
  explicit Launching(Command wanted)
      : command(std::move(wanted)),
        candidates(candidates_of(command)),
        paths(pointers_to(candidates)),
        argv(pointers_to(command.argv)),
        env(pointers_to(command.env)),
        shell_argv({shell.data(), nullptr}) {
    shell_argv.insert(shell_argv.end(), argv.begin() + 1, argv.end());
  }

  int start(int null) {
    return launch.start({.candidates = paths.data(),
                         .argv = argv.data(),
                         .shell_argv = shell_argv.data(),
                         .env = env.data(),
                         .cwd = command.cwd.empty() ? nullptr : command.cwd.c_str(),
                         .null = null,
                         .output = command.output,
                         .kept = command.kept});
  }

  const Command command;
  const std::vector<std::string> candidates;
  const std::vector<char*> paths;
  const std::vector<char*> argv;
  const std::vector<char*> env;
  std::string shell = "/bin/sh";
  std::vector<char*> shell_argv;
  Launch launch;
};

Result<Process> Process::start(Command command) {
  SLUICE_TRY(check(command));
  SLUICE_LET(null, null_device());
  auto launching = std::make_unique<Launching>(std::move(command));
  if (const int number = launching->start(null); number != 0)
    return system_failure(number, starting(launching->command) + "no new process");
  return Process(std::move(launching));
}

Process::Process(std::unique_ptr<Launching> launching)
    : pid_(launching->launch.pid()),
      pidfd_(launching->launch.pidfd()),
      launching_(std::move(launching)) {}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      over_(other.over_),
      launching_(std::move(other.launching_)),
      ending_(other.ending_),
      launch_failure_(std::move(other.launch_failure_)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::move(other.pidfd_);
  over_ = other.over_;
  launching_ = std::move(other.launching_);
  ending_ = other.ending_;
  launch_failure_ = std::move(other.launch_failure_);
  return *this;
}

Process::~Process() {
  end();
}

void Process::end() {
  // A look first: if somebody else reaped it, the number is no longer ours to kill.
  if (const auto ending = reap(); !ending || *ending) return;
  signal(SIGKILL);
  [[maybe_unused]] const Result<Ending> ended = wait();
}

void Process::signal(int number) const {
  SLUICE_CHECK(number > 0 && number <= SIGRTMAX);
  if (reaped()) return;
  // One that has yet to make its group is alone. It heeds the signal before its program runs.
  if (::kill(-pid_, number) != 0 && errno == ESRCH) ::kill(pid_, number);
}

Result<std::optional<Ending>> Process::reap() {
  return look(WNOHANG);
}

Result<Ending> Process::wait() {
  SLUICE_LET(ending, look(0));
  return *ending;
}

Result<std::optional<Ending>> Process::look(int waiting) {
  if (ending_) return ending_;
  if (never_ran()) return Failure{launch_failure_};
  siginfo_t info{};
  while (!reaped() &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | waiting) != 0)
    over_ = errno != EINTR;
  if (reaped())
    return error(Code::io_error,
                 "the ending of process " + std::to_string(pid_) +
                     " is unknown, because somebody else reaped it: let nothing in this program "
                     "ignore SIGCHLD or wait for any child");
  if (info.si_pid != 0) collect();
  if (never_ran()) return Failure{launch_failure_};
  return ending_;
}

// The program has ended, but is still a zombie. That is what keeps its number, which is also the
// group's, from being given to another process: so only now can the rest of the group be killed
// without the risk of killing strangers. Once it is waited for, the number may be anybody's.
void Process::collect() {
  signal(SIGKILL);
  int status = 0;
  rusage usage{};
  SLUICE_CHECK(::wait4(pid_, &status, 0, &usage) == pid_);
  over_ = true;
  if (launching_->launch.error() == 0)
    ending_ = ending_of(status, usage);
  else
    launch_failure_ = launch_failure(launching_->command, launching_->launch).status;
  launching_.reset();
}

}  // namespace sluice::exec
