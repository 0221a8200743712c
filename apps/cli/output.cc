// SPDX-License-Identifier: MIT
#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "cli/args.h"

namespace sluice::cli {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    // Messages that nobody can read are no reason to stop: a worker outlives its terminal.
    if (wrote < 0 && fd == 2) return;
    if (wrote < 0 && errno == EPIPE) {
      // As if the signal had not been ignored: `queuectl list | head -1` is no error.
      signal(SIGPIPE, SIG_DFL);
      raise(SIGPIPE);
    }
    if (wrote < 0) {
      write_all(2, std::string(program_name()) + ": cannot write: " + std::strerror(errno) + "\n");
      _exit(1);
    }
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace sluice::cli
