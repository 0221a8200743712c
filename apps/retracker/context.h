// SPDX-License-Identifier: MIT
// What the commands of retracker share.
#pragma once

#include <sluice/log.h>
#include <sluice/result.h>

#include <string_view>
#include <vector>

#include "cli/args.h"
#include "retracker/settings.h"

namespace sluice::cli {

inline constexpr std::string_view kVersion = SLUICE_VERSION;

class Context {
 public:
  explicit Context(EffectiveSettings effective);

  const Settings& settings() const { return effective_.settings; }
  const EffectiveSettings& effective() const { return effective_; }
  /// Lines with time and level on standard error.
  const LogSink& log() const { return log_; }

 private:
  EffectiveSettings effective_;
  LogSink log_;
};

/// What the options of settings_options() say, with this process's environment.
Result<SettingsSources> sources_of(const Arguments& arguments);
/// Of commands that read settings.
std::vector<Option> settings_options();

Result<int> serve(Context& context, const Arguments& arguments);
std::vector<Command> settings_commands();  ///< settings, forwarders.

}  // namespace sluice::cli
