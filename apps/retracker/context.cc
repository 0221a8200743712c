// SPDX-License-Identifier: MIT
#include "retracker/context.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "cli/time.h"

namespace sluice::cli {
namespace {

std::optional<std::string> variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == 0) return {};
  return value;
}

}  // namespace

Context::Context(EffectiveSettings effective) : effective_(std::move(effective)) {
  const LogLevel least = effective_.settings.debug ? LogLevel::debug : LogLevel::info;
  log_ = [least](LogLevel level, std::string_view line) {
    if (level < least) return;
    // One fwrite, so that lines of several threads do not mix.
    const std::string text = format_time(system_clock().wall()) + " " + log_level_name(level) +
                             " " + std::string(line) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
}

Result<SettingsSources> sources_of(const Arguments& arguments) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOptions = {
      {{"--listen", "listen"},
       {"--udp-listen", "udp_listen"},
       {"--forwarders", "forwarders_file"}}};
  SettingsSources sources{.config = arguments.text("--config"), .environment = variable};
  for (const auto& [option, name] : kOptions)
    if (auto value = arguments.text(option))
      sources.options.push_back(
          {.name = std::string(name), .value = std::move(*value), .where = std::string(option)});
  if (arguments.has("--debug"))
    sources.options.push_back({.name = "debug", .value = "true", .where = "--debug"});
  for (const std::string& text : arguments.all("--set")) {
    SLUICE_LET(given, parse_assignment(text));
    sources.options.push_back(std::move(given));
  }
  return sources;
}

std::vector<Option> settings_options() {
  return {
      {"--config", 'c', "FILE", "read settings from this file, as `age: 60`", Takes::file},
      {"--listen", 'l', "ADDR", "where HTTP is served: :6969, 127.0.0.1:6969, [::1]:0"},
      {"--udp-listen", 'u', "ADDR", "where UDP is served; it is not unless this is said"},
      {"--forwarders", 'f', "FILE", "the trackers that announces are forwarded to", Takes::file},
      {"--debug", 'd', "", "log more", Takes::nothing},
      {"--set", 0, "NAME=VALUE", "any setting; may be repeated", Takes::text, true},
  };
}

}  // namespace sluice::cli
