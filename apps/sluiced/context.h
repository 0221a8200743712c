// SPDX-License-Identifier: MIT
// What the commands of sluiced share.
#pragma once

#include <sluice/clock.h>
#include <sluice/kv.h>
#include <sluice/log.h>
#include <sluice/result.h>

#include <memory>
#include <string_view>
#include <vector>

#include "sluiced/settings.h"

namespace sluice::cli {

inline constexpr std::string_view kVersion = SLUICE_VERSION;

class Context {
 public:
  explicit Context(Settings settings);

  const Settings& settings() const { return settings_; }
  /// Lines with time and level on standard error.
  const LogSink& log() const { return log_; }
  /// Made if it is not there.
  Result<std::unique_ptr<kv::Store>> open_store() const;
  /// `not_found` if it is not there.
  Result<std::unique_ptr<kv::Store>> open_existing_store() const;

 private:
  Settings settings_;
  LogSink log_;
};

/// What `verify` finds, as JSON.
Result<std::string> verify_report(const Settings& settings);

Result<int> serve(Context& context, const Arguments& arguments);
Result<int> verify(Context& context, const Arguments& arguments);
Result<int> backup(Context& context, const Arguments& arguments);
std::vector<Command> token_commands();

/// Of commands that work on the store.
std::vector<Option> store_options();

}  // namespace sluice::cli
