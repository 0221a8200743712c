// SPDX-License-Identifier: MIT
// The settings: a file of "key = value" lines, with the environment before it and defaults behind.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace sluice::cli {

struct ConfigKey {
  std::string_view name;  ///< "max-retries"; "max_retries" is the same.
  std::string_view standard;
  std::string_view help;
  Status (*check)(std::string_view value);
};
std::span<const ConfigKey> config_keys();
/// By either spelling; `not_found` says what was meant.
Result<const ConfigKey*> find_config_key(std::string_view name);

/// A setting is what $QUEUECTL_MAX_RETRIES says, else the file, else the default. Values are
/// checked when they are set and when they are read. Not thread-safe.
class Config {
 public:
  /// A file that is not there is empty. `invalid_argument` names the line that makes no sense.
  static Result<Config> load(std::string path, Environment environment);

  Result<std::string> get(std::string_view key) const;
  /// Where get() found it: "environment", "file" or "default".
  std::string_view source(std::string_view key) const;

  Result<std::int64_t> number(std::string_view key) const;
  Result<double> real(std::string_view key) const;
  Result<Duration> duration(std::string_view key) const;
  Result<std::uint64_t> size(std::string_view key) const;

  /// Writes the file anew, whole or not at all; comments and the order of lines stay.
  Status set(std::string_view key, std::string_view value);
  /// `not_found` if the file does not have it.
  Status unset(std::string_view key);

  const std::string& path() const { return path_; }

 private:
  Config(std::string path, Environment environment)
      : path_(std::move(path)), environment_(std::move(environment)) {}
  Status rewrite(std::string_view key, const std::optional<std::string>& value);

  std::string path_;
  Environment environment_;
  std::map<std::string, std::string, std::less<>> values_;
};

/// $QUEUECTL_CONFIG, else $XDG_CONFIG_HOME/queuectl/config, else ~/.config/queuectl/config.
std::string default_config_path(const Environment& environment);

}  // namespace sluice::cli
