// SPDX-License-Identifier: MIT
// Tells on standard error how far a run has come, from a thread of its own.
#pragma once

#include <sluice/clock.h>

#include <functional>
#include <string>
#include <thread>

#include "cli/terminal.h"
#include "sluice-migrate/wishes.h"

namespace sluice::cli {

/// How often a line is written where there is no terminal to draw it anew.
inline constexpr Duration kPlainInterval = std::chrono::seconds(5);

/// On a terminal, one line that is drawn over and over, and erased at the end; elsewhere, plain
/// lines. All of them come from `line`, which is called on this object's thread and, at the end,
/// on that of the destructor, never on both at once.
class Progress {
 public:
  struct Options {
    ProgressMode mode = ProgressMode::automatic;
    Terminal terminal = {};  ///< Of standard error.
    const Clock& clock;
  };
  /// Harmless text without a line feed; it is cut to the terminal's width.
  using Line = std::function<std::string()>;

  Progress(const Options& options, Line line);
  /// Waits for the thread.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void run(const std::stop_token& stop);
  void draw();

  Options options_;
  Line line_;
  std::jthread thread_;
};

}  // namespace sluice::cli
