// SPDX-License-Identifier: MIT
#include "queuectl/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/descriptor.h"
#include "cli/args.h"
#include "cli/duration.h"
#include "cli/size.h"
#include "cli/suggest.h"
#include "cli/visible.h"

namespace sluice::cli {
namespace {

Result<double> parse_real(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  char range[64];
  std::snprintf(range, sizeof range, "%g to %g", least, most);
  return error(Code::invalid_argument, in_quotes(text) + " is not a number from " + range);
}

Status check_retries(std::string_view value) {
  return status_of(parse_number("the number of runs", value, 0, 1'000'000));
}
Status check_base(std::string_view value) {
  if (value == "0") return {};
  return status_of(parse_real(value, 1, 1'000));
}
Status check_share(std::string_view value) {
  return status_of(parse_real(value, 0, 1));
}
Status check_duration(std::string_view value) {
  return status_of(parse_duration(value));
}
Status check_lease(std::string_view value) {
  SLUICE_LET(lease, parse_duration(value));
  if (lease >= std::chrono::seconds(1) && lease <= std::chrono::hours(24 * 7)) return {};
  return error(Code::invalid_argument, "a lease is 1s to 7d");
}
Status check_size(std::string_view value) {
  return status_of(parse_size(value));
}
Status check_store_size(std::string_view value) {
  SLUICE_LET(size, parse_size(value));
  if (size >= std::uint64_t{1} << 20 && size <= std::uint64_t{64} << 40) return {};
  return error(Code::invalid_argument, "a store holds 1M to 64T");
}
Status check_slots(std::string_view value) {
  return status_of(parse_number("the number of slots", value, 1, 1'024));
}

constexpr std::array<ConfigKey, 12> kKeys{{
    {"max-retries", "3", "failed runs after which a new job is dead", check_retries},
    {"backoff-base", "2", "a retry waits base^attempts seconds; 0: not at all", check_base},
    {"backoff-max", "300", "the longest wait for a retry", check_duration},
    {"backoff-jitter", "0", "the share of the wait that is left to chance, 0 to 1", check_share},
    {"job-timeout", "0", "the time limit of new jobs that name none; 0: none", check_duration},
    {"kill-after", "10", "from SIGTERM to SIGKILL, for new jobs that name none", check_duration},
    {"keep-completed", "30d", "how long completed and cancelled jobs are kept", check_duration},
    {"keep-logs", "30d", "how long the output of runs is kept; 0: for ever", check_duration},
    {"output-limit", "64M", "disk space for the output of a run; 0: no limit", check_size},
    {"lease", "1h", "after so long without a word a stalled worker loses its jobs", check_lease},
    {"store-size", "64G", "the most that the store can hold; it can only grow", check_store_size},
    {"worker-count", "1", "jobs that a worker runs at once", check_slots},
}};

std::string with_dashes(std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, '_', '-');
  return key;
}

std::string variable_of(std::string_view key) {
  std::string name = "QUEUECTL_";
  for (const char c : key)
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// The key that a line sets; empty for comments and blank lines.
std::string key_of(const std::string& line) {
  const std::string text = trimmed(line);
  if (text.empty() || text[0] == '#') return {};
  return with_dashes(trimmed(text.substr(0, text.find('='))));
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Status failed(const std::string& path) {
  return {errno == EACCES || errno == EROFS ? Code::permission_denied : Code::io_error,
          "cannot write " + path + ": " + std::strerror(errno)};
}

Status write_whole(const std::string& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string fresh = path + ".new";
  {
    const Descriptor file(
        open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.valid()) return failed(fresh);
    if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        fsync(file.get()) != 0)
      return failed(fresh);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return failed(path);
  return {};
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

Result<const ConfigKey*> find_config_key(std::string_view name) {
  const std::string wanted = with_dashes(name);
  for (const ConfigKey& key : kKeys)
    if (key.name == wanted) return &key;
  std::vector<std::string_view> names;
  for (const ConfigKey& key : kKeys) names.push_back(key.name);
  const std::string meant = did_you_mean(wanted, names);
  return error(Code::not_found, "there is no setting " + in_quotes(name) + ": " +
                                    (meant.empty() ? "see queuectl config list" : meant));
}

Result<Config> Config::load(std::string path, Environment environment) {
  Config config(std::move(path), std::move(environment));
  int number = 0;
  for (const std::string& line : read_lines(config.path_)) {
    ++number;
    const std::string key = key_of(line);
    if (key.empty()) continue;
    const auto where = [&](const Status& status) {
      return status.with(config.path_ + " line " + std::to_string(number));
    };
    const auto known = find_config_key(key);
    if (!known) return Failure{where({Code::invalid_argument, known.error().message()})};
    if (line.find('=') == std::string::npos)
      return Failure{where({Code::invalid_argument, "write key = value"})};
    const std::string value = trimmed(line.substr(line.find('=') + 1));
    if (const Status valid = (*known)->check(value); !valid.ok()) return Failure{where(valid)};
    config.values_[key] = value;
  }
  return config;
}

Result<std::string> Config::get(std::string_view name) const {
  SLUICE_LET(key, find_config_key(name));
  if (const auto given = environment_(variable_of(key->name).c_str())) {
    if (const Status valid = key->check(*given); !valid.ok())
      return Failure{valid.with(variable_of(key->name))};
    return *given;
  }
  const auto found = values_.find(key->name);
  return found != values_.end() ? found->second : std::string(key->standard);
}

std::string_view Config::source(std::string_view name) const {
  const std::string key = with_dashes(name);
  if (environment_(variable_of(key).c_str())) return "environment";
  return values_.contains(key) ? "file" : "default";
}

Result<std::int64_t> Config::number(std::string_view key) const {
  SLUICE_LET(text, get(key));
  return parse_number(key, text, INT64_MIN, INT64_MAX);
}

Result<double> Config::real(std::string_view key) const {
  SLUICE_LET(text, get(key));
  return parse_real(text, 0, 1e9);
}

Result<Duration> Config::duration(std::string_view key) const {
  SLUICE_LET(text, get(key));
  return parse_duration(text);
}

Result<std::uint64_t> Config::size(std::string_view key) const {
  SLUICE_LET(text, get(key));
  return parse_size(text);
}

Status Config::set(std::string_view name, std::string_view value) {
  SLUICE_LET(key, find_config_key(name));
  if (const Status valid = key->check(value); !valid.ok()) return valid.with(key->name);
  return rewrite(key->name, std::string(value));
}

Status Config::unset(std::string_view name) {
  SLUICE_LET(key, find_config_key(name));
  if (!values_.contains(key->name))
    return error(Code::not_found, std::string(key->name) + " is not set in " + path_);
  return rewrite(key->name, {});
}

Status Config::rewrite(std::string_view key, const std::optional<std::string>& value) {
  std::string text;
  bool written = false;
  for (const std::string& line : read_lines(path_)) {
    if (key_of(line) != key) {
      text += line + "\n";
    } else if (value && !written) {
      text += std::string(key) + " = " + *value + "\n";
      written = true;
    }
  }
  if (value && !written) text += std::string(key) + " = " + *value + "\n";
  SLUICE_TRY(write_whole(path_, text));
  values_.erase(std::string(key));
  if (value) values_[std::string(key)] = *value;
  return {};
}

std::string default_config_path(const Environment& environment) {
  if (const auto path = environment("QUEUECTL_CONFIG"); path && !path->empty()) return *path;
  if (const auto home = environment("XDG_CONFIG_HOME"); home && !home->empty())
    return *home + "/queuectl/config";
  return environment("HOME").value_or("") + "/.config/queuectl/config";
}

}  // namespace sluice::cli
