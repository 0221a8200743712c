// SPDX-License-Identifier: MIT
// What can be set about sluiced: by option, else by environment, else by file, else by default.
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/args.h"

namespace sluice::cli {

struct Setting {
  std::string_view name;  ///< "listen": --listen, $SLUICED_LISTEN, `listen:` in the file.
  std::string_view value;
  std::string_view standard;
  std::string_view help;
  Status (*check)(std::string_view value);
  Takes takes = Takes::text;
};
std::span<const Setting> all_settings();
/// "SLUICED_STORE_SIZE" for "store-size".
std::string variable_of(std::string_view name);
/// What log-level can be, from the least important on.
std::span<const std::string_view> log_levels();

struct Settings {
  std::string listen = {};
  std::string data = {};
  std::string tls_certificate = {};
  std::string tls_key = {};
  bool allow_plain = false;
  bool allow_anonymous = false;
  Duration compat_lease = {};
  Duration drain_time = {};
  std::uint64_t store_bytes = 0;
  std::size_t body_bytes_max = 0;
  std::size_t connections_max = 0;
  unsigned loops = 0;
  LogLevel log_level = LogLevel::info;
};

using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// `invalid_argument` names the setting, where it comes from, and what is allowed; unknown names in
/// the file too. `environment` also knows PORT, which gives the port of the default address.
Result<Settings> read_settings(const Arguments& arguments, const Lookup& environment);

/// Whether it may listen there: for other machines only with TLS and tokens, unless that was said.
Status check_exposure(const Settings& settings, const std::function<Result<bool>()>& has_tokens);

}  // namespace sluice::cli
