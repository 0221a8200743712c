// SPDX-License-Identifier: MIT
#include "sluice-migrate/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace sluice::cli {
namespace {

sigset_t stopping_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  return set;
}

/// Ends the process by this signal, so that whoever waits for it sees that.
void end_by(int number) {
  const sigset_t set = stopping_signals();
  std::signal(number, SIG_DFL);
  kill(getpid(), number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

Result<std::unique_ptr<Interrupts>> Interrupts::open(std::function<void()> told) {
  const sigset_t set = stopping_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Descriptor signals(signalfd(-1, &set, SFD_CLOEXEC));
  Descriptor ended(eventfd(0, EFD_CLOEXEC));
  if (!signals.valid() || !ended.valid())
    return error(Code::unavailable, "too many files are open; raise the limit (ulimit -n)");
  return std::unique_ptr<Interrupts>(
      new Interrupts(std::move(signals), std::move(ended), std::move(told)));
}

Interrupts::Interrupts(Descriptor signals, Descriptor ended, std::function<void()> told)
    : signals_(std::move(signals)),
      ended_(std::move(ended)),
      told_(std::move(told)),
      thread_([this] { watch(); }) {}

Interrupts::~Interrupts() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = write(ended_.get(), &one, sizeof one);
}

void Interrupts::watch() {
  for (;;) {
    pollfd waited[2] = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                        {.fd = ended_.get(), .events = POLLIN, .revents = 0}};
    if (poll(waited, 2, -1) < 0) continue;
    if ((waited[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info{};
    if (read(signals_.get(), &info, sizeof info) != sizeof info) continue;
    if (source_.stop_requested()) {
      end_by(static_cast<int>(info.ssi_signo));
      continue;
    }
    source_.request_stop();
    told_();
  }
}

}  // namespace sluice::cli
