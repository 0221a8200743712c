// SPDX-License-Identifier: MIT
#include "sluiced/settings.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/duration.h"
#include "cli/size.h"
#include "cli/suggest.h"
#include "cli/visible.h"
#include "net/listen.h"

namespace sluice::cli {
namespace {

Status check_address(std::string_view value) {
  return status_of(net::is_loopback(std::string(value)));
}
Status check_text(std::string_view value) {
  return value.empty() ? Status(Code::invalid_argument, "it is empty") : Status();
}
Status check_any(std::string_view /*value*/) {
  return {};
}
Status check_duration(std::string_view value) {
  SLUICE_LET(duration, parse_duration(value));
  if (duration >= std::chrono::milliseconds(1) && duration <= std::chrono::hours(24)) return {};
  return error(Code::invalid_argument, "1ms to 24h is allowed");
}
Status check_store_size(std::string_view value) {
  SLUICE_LET(size, parse_size(value));
  if (size >= std::uint64_t{1} << 20 && size <= std::uint64_t{64} << 40) return {};
  return error(Code::invalid_argument, "1M to 64T is allowed");
}
Status check_body_size(std::string_view value) {
  SLUICE_LET(size, parse_size(value));
  if (size >= 1024 && size <= std::uint64_t{64} << 20) return {};
  return error(Code::invalid_argument, "1K to 64M is allowed");
}
Status check_connections(std::string_view value) {
  return status_of(parse_number("the number of connections", value, 1, 1'000'000));
}
Status check_threads(std::string_view value) {
  return status_of(parse_number("the number of threads", value, 0, 1'024));
}
Status check_switch(std::string_view value) {
  if (value == "true" || value == "false") return {};
  return error(Code::invalid_argument, "true or false is allowed");
}

constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};
Status check_level(std::string_view value) {
  if (std::ranges::find(kLevels, value) != kLevels.end()) return {};
  return error(Code::invalid_argument, "debug, info, warning or error is allowed");
}

constexpr std::array<Setting, 13> kSettings{{
    {"listen", "ADDR", "127.0.0.1:3100", "127.0.0.1:PORT, [::1]:PORT or unix:PATH; port 0: any",
     check_address},
    {"data", "DIR", "./data", "where the jobs are", check_text, Takes::folder},
    {"tls-cert", "FILE", "", "serve TLS with this certificate, PEM with its chain", check_any,
     Takes::file},
    {"tls-key", "FILE", "", "the key of that certificate", check_any, Takes::file},
    {"allow-plain", "", "false", "serve other machines without TLS", check_switch, Takes::nothing},
    {"allow-anonymous", "", "false", "serve other machines without tokens", check_switch,
     Takes::nothing},
    {"compat-lease", "TIME", "60s", "how long a pop holds its job", check_duration},
    {"drain-time", "TIME", "25s", "how long requests may take after SIGTERM", check_duration},
    {"store-size", "SIZE", "64G", "the most that the store can hold; it can only grow",
     check_store_size},
    {"max-body", "SIZE", "2M", "the largest body of a request", check_body_size},
    {"max-connections", "N", "10000", "connections at once", check_connections},
    {"threads", "N", "0",
     "threads that serve connections; 0: one per core but one, which the store has", check_threads},
    {"log-level", "LEVEL", "info", "debug, info, warning or error", check_level, Takes::level},
}};

using Values = std::map<std::string, std::string, std::less<>>;

Failure wrong(std::string_view where, std::string_view name, std::string_view value,
              const Status& why) {
  return error(Code::invalid_argument, std::string(where) + ": " + std::string(name) + " " +
                                           in_quotes(value) + ": " + why.message());
}

Result<Values> read_file(const std::string& path) {
  Values values;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  // A folder can be opened, but not be read; an empty file gives nothing, and that is fine.
  if (!file.is_open() || file.bad() || (text.fail() && std::filesystem::is_directory(path)))
    return error(Code::invalid_argument, path + ": it cannot be read; name a file with --config");
  YAML::Node root;
  try {
    root = YAML::Load(text.str());
  } catch (const YAML::Exception& problem) {
    return error(Code::invalid_argument, path + ": " + problem.what());
  }
  if (root.IsNull()) return values;
  if (!root.IsMap())
    return error(Code::invalid_argument, path + ": write one 'name: value' a line");
  std::vector<std::string_view> names;
  for (const Setting& setting : kSettings) names.push_back(setting.name);
  for (const auto& pair : root) {
    std::string name = pair.first.as<std::string>("");
    std::ranges::replace(name, '_', '-');
    if (std::ranges::find(names, name) == names.end()) {
      const std::string meant = did_you_mean(name, names);
      return error(Code::invalid_argument, path + ": there is no setting " + in_quotes(name) +
                                               (meant.empty() ? "" : ": " + meant));
    }
    if (!pair.second.IsScalar())
      return error(Code::invalid_argument, path + ": " + name + " must be one value");
    values[name] = pair.second.Scalar();
  }
  return values;
}

/// Every setting has a value that was checked.
Result<Values> find_values(const Arguments& arguments, const Lookup& environment) {
  Values file;
  const auto path = arguments.text("--config");
  const auto config = path ? path : environment("SLUICED_CONFIG");
  if (config) {
    SLUICE_LET(read, read_file(*config));
    file = std::move(read);
  }
  Values values;
  for (const Setting& setting : kSettings) {
    const std::string option = "--" + std::string(setting.name);
    const std::string variable = variable_of(setting.name);
    std::string where = "default";
    std::string value(setting.standard);
    if (arguments.has(option)) {
      where = option;
      value = setting.value.empty() ? "true" : *arguments.text(option);
    } else if (const auto set = environment(variable)) {
      where = "$" + variable;
      value = *set;
    } else if (const auto in_file = file.find(setting.name); in_file != file.end()) {
      where = *config;
      value = in_file->second;
    } else if (const auto port = environment("PORT"); port && setting.name == "listen") {
      where = "$PORT";
      value = "127.0.0.1:" + *port;
    }
    if (const Status checked = setting.check(value); !checked.ok() && where != "default")
      return wrong(where, setting.name, value, checked);
    values[std::string(setting.name)] = std::move(value);
  }
  return values;
}

}  // namespace

std::span<const Setting> all_settings() {
  return kSettings;
}

std::string variable_of(std::string_view name) {
  std::string variable = "SLUICED_";
  for (const char c : name)
    variable += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return variable;
}

std::span<const std::string_view> log_levels() {
  return kLevels;
}

Result<Settings> read_settings(const Arguments& arguments, const Lookup& environment) {
  SLUICE_LET(values, find_values(arguments, environment));
  const auto number = [&](std::string_view name) {
    return static_cast<std::size_t>(std::stoull(values.find(name)->second));
  };
  Settings settings;
  settings.listen = values["listen"];
  settings.data = values["data"];
  settings.tls_certificate = values["tls-cert"];
  settings.tls_key = values["tls-key"];
  settings.allow_plain = values["allow-plain"] == "true";
  settings.allow_anonymous = values["allow-anonymous"] == "true";
  settings.compat_lease = parse_duration(values["compat-lease"]).value();
  settings.drain_time = parse_duration(values["drain-time"]).value();
  settings.store_bytes = parse_size(values["store-size"]).value();
  settings.body_bytes_max = static_cast<std::size_t>(parse_size(values["max-body"]).value());
  settings.connections_max = number("max-connections");
  settings.loops = static_cast<unsigned>(number("threads"));
  const auto level = std::ranges::find(kLevels, values["log-level"]) - kLevels.begin();
  settings.log_level = static_cast<LogLevel>(level);
  if (settings.tls_certificate.empty() != settings.tls_key.empty())
    return error(Code::invalid_argument,
                 "TLS needs both a certificate and a key: tls-cert, tls-key");
  return settings;
}

Status check_exposure(const Settings& settings, const std::function<Result<bool>()>& has_tokens) {
  SLUICE_LET(loopback, net::is_loopback(settings.listen));
  if (loopback) return {};
  const std::string refusing = "refusing to serve other machines on " + settings.listen;
  if (settings.tls_certificate.empty() && !settings.allow_plain)
    return error(Code::invalid_argument,
                 refusing +
                     " without TLS: give --tls-cert and --tls-key, listen on 127.0.0.1 behind a "
                     "proxy, or say --allow-plain if nobody can listen in");
  if (settings.allow_anonymous) return {};
  SLUICE_LET(tokens, has_tokens());
  if (tokens) return {};
  return error(Code::invalid_argument,
               refusing +
                   " without tokens: make one with sluiced token add, or say --allow-anonymous if "
                   "everybody who reaches it may do everything");
}

}  // namespace sluice::cli
