// SPDX-License-Identifier: MIT
#include "tests/support/actor.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace sluice::test {

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::_Exit(5);
}

void end_with_the_test(unsigned seconds_max) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(seconds_max);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

}  // namespace sluice::test
