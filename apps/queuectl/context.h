// SPDX-License-Identifier: MIT
// What every command works with: the store, the settings, the terminal.
#pragma once

#include <sluice/clock.h>
#include <sluice/queue.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "cli/terminal.h"
#include "queuectl/config.h"

namespace sluice::cli {

inline constexpr std::string_view kVersion = SLUICE_VERSION;
inline constexpr std::string_view kDefaultQueue = "default";

// Exit codes; what a Status maps to is in code_info().
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kStorage = 5;
inline constexpr int kTimedOut = 124;

/// Of one run of the program. Results go to standard output, everything else to standard error.
class Context {
 public:
  static Result<std::unique_ptr<Context>> make(const Arguments& arguments);
  ~Context();

  /// The directory of the store. Nothing is opened or made.
  const std::string& dir() const { return dir_; }
  /// Opened, and made if it is missing, at the first call.
  Result<queue::Queues*> queues();
  Result<kv::Store*> store();
  /// Closes what was opened; pointers that were handed out are no longer good.
  void close();
  /// Makes the queue with the settings that jobs of the command line need, if it is missing.
  Status prepare_queue(const std::string& name);
  /// Read from its file at the first call.
  Result<Config*> config();
  const Clock& clock() const { return system_clock(); }

  bool json() const { return json_; }
  bool quiet() const { return quiet_; }
  bool verbose() const { return verbose_; }
  const Terminal& out() const { return out_; }
  const Terminal& err() const { return err_; }
  const Environment& environment() const { return environment_; }

  /// To standard output. A reader that is gone ends the program quietly.
  void print(std::string_view text) const;
  /// A line to standard error, unless --quiet.
  void say(std::string_view line) const;
  /// A line to standard error with --verbose.
  void detail(std::string_view line) const;
  void warn(std::string_view line) const;

 private:
  Context() = default;
  Status open();

  std::string dir_;
  bool json_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  Terminal out_;
  Terminal err_;
  Environment environment_;
  std::optional<Config> config_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<queue::Queues> queues_;
};

/// The queue that --queue names, else the default one.
std::string queue_of(const Arguments& arguments);

/// The jobs that the words name, at least one: `invalid_argument` if there is none.
Result<std::vector<queue::JobRef>> jobs_of(const Arguments& arguments);

}  // namespace sluice::cli
