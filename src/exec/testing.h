// SPDX-License-Identifier: MIT
// What the tests of this room share.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/descriptor.h"
#include "exec/process.h"
#include "tests/support/beside.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::exec::testing {

inline const std::string kPath = "PATH=/bin:/usr/bin";

inline bool readable(int fd) {
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, static_cast<int>(test::patience() / std::chrono::milliseconds(1))) == 1;
}

/// A pipe whose end for writing is the output of a program.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    SLUICE_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }

  int end() const { return write_.get(); }
  /// The next line, without its newline. "(end)" if all who could write have gone; "(nothing)" if
  /// none comes for a long time.
  std::string line() {
    write_.reset();
    std::string text;
    for (char byte = 0;;) {
      if (!readable(read_.get())) return "(nothing)";
      if (::read(read_.get(), &byte, 1) != 1) return "(end)";
      if (byte == '\n') return text;
      text += byte;
    }
  }
  /// Everything until all who could write have gone.
  std::string rest() {
    write_.reset();
    std::string text;
    for (std::array<char, 4096> chunk; readable(read_.get());) {
      const ssize_t count = ::read(read_.get(), chunk.data(), chunk.size());
      if (count <= 0) break;
      text.append(chunk.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  Descriptor read_;
  Descriptor write_;
};

/// `sh -c script` with a PATH.
inline Command shell(const std::string& script) {
  return {.argv = {"sh", "-c", script}, .env = {kPath}};
}

/// The program of test_worker.cc.
inline std::string test_worker() {
  return test::beside_this_program("exec_test_worker");
}

/// One of its roles.
inline Command role(std::vector<std::string> words) {
  words.insert(words.begin(), test_worker());
  return {.argv = std::move(words), .env = {kPath}};
}

/// Returns when the process has left us for its program, or has ended.
inline void wait_until_loaded(const Process& process) {
  const std::string ours = test::read_file("/proc/self/cmdline");
  const std::string its = "/proc/" + std::to_string(process.pid()) + "/cmdline";
  SLUICE_CHECK(test::wait_until([&] { return test::read_file(its) != ours; }));
}

/// Starts it and waits until its program is loaded, or stops the test program.
inline Process started(const Command& command) {
  Result<Process> process = Process::start(command);
  EXPECT_TRUE(process) << process.error().to_string();
  SLUICE_CHECK(process.has_value());
  wait_until_loaded(*process);
  return std::move(*process);
}

struct Finished {
  std::string printed;
  Ending ending;
};

/// Runs it to its end; its output goes to a pipe.
inline Finished run(Command command) {
  Pipe pipe;
  command.output = pipe.end();
  Process process = started(command);
  Finished finished{.printed = pipe.rest(), .ending = {}};
  finished.ending = process.wait().value();
  return finished;
}

/// Readable once the process has ended. Not valid if there is none.
inline Descriptor watch(pid_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

inline pid_t pid_in(const std::string& line) {
  const int pid = std::atoi(line.c_str());
  SLUICE_CHECK(pid > 1);
  return pid;
}

}  // namespace sluice::exec::testing
