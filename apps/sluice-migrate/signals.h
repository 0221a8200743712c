// SPDX-License-Identifier: MIT
// Ctrl-C and its like, as a request to stop.
#pragma once

#include <sluice/result.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include "base/descriptor.h"

namespace sluice::cli {

/// The first SIGINT, SIGTERM or SIGHUP requests a stop; the second ends the process as if it had
/// never been caught. Must be made before any other thread, so that all of them inherit that these
/// signals are blocked. They stay blocked when this ends.
class Interrupts {
 public:
  /// `told` is called once, on a thread of its own, when the first one comes.
  static Result<std::unique_ptr<Interrupts>> open(std::function<void()> told);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool came() const { return source_.stop_requested(); }

 private:
  Interrupts(Descriptor signals, Descriptor ended, std::function<void()> told);
  void watch();

  Descriptor signals_;
  Descriptor ended_;
  std::function<void()> told_;
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace sluice::cli
