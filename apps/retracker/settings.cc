// SPDX-License-Identifier: MIT
#include "retracker/settings.h"

#include <algorithm>
#include <map>

#include "cli/suggest.h"
#include "cli/visible.h"
#include "retracker/yaml_file.h"

namespace sluice::cli {
namespace {

struct Written {
  std::string value = {};
  std::string where = {};
};
using WrittenValues = std::map<std::string, Written, std::less<>>;

/// Names may be written with dashes too.
std::string spelled(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

bool is_setting(std::string_view name) {
  return std::ranges::any_of(all_settings(), [&](const Setting& one) { return one.name == name; });
}

bool is_list(std::string_view name) {
  return std::ranges::any_of(all_settings(), [&](const Setting& one) {
    return one.name == name && one.shape == Shape::list;
  });
}

/// A list becomes a text with commas; nothing if it is neither that nor one value.
std::optional<std::string> text_of(const YAML::Node& node, bool list) {
  if (node.IsScalar()) return node.Scalar();
  if (!list || !node.IsSequence()) return {};
  std::string text;
  for (const auto& item : node) {
    if (!item.IsScalar()) return {};
    text.append(text.empty() ? "" : ", ").append(item.Scalar());
  }
  return text;
}

Status read_entry(const std::string& path, const YAML::Node& key, const YAML::Node& value,
                  WrittenValues& values, std::vector<std::string>& warnings) {
  const std::string where = place_of(path, key);
  const std::string name = key.IsScalar() ? spelled(key.Scalar()) : std::string();
  if (!is_setting(name)) {
    warnings.push_back(where + ": " + no_such_setting(key.IsScalar() ? key.Scalar() : ""));
    return {};
  }
  if (value.IsNull()) return {};
  const auto text = text_of(value, is_list(name));
  if (!text) return error(Code::invalid_argument, where + ": " + name + " must be one value");
  const auto [at, is_new] = values.insert_or_assign(name, Written{*text, where});
  if (!is_new) warnings.push_back(where + ": " + name + " is there twice; the last counts");
  return {};
}

Result<WrittenValues> read_file(const std::string& path, std::vector<std::string>& warnings) {
  SLUICE_LET(text, read_yaml_file(path));
  SLUICE_LET(root, parse_yaml(text, path));
  WrittenValues values;
  if (root.IsNull()) return values;
  if (!root.IsMap())
    return error(Code::invalid_argument, path + ": write one 'name: value' a line");
  for (const auto& pair : root)
    SLUICE_TRY(read_entry(path, pair.first, pair.second, values, warnings));
  return values;
}

Result<WrittenValues> option_values(const std::vector<GivenSetting>& options) {
  WrittenValues values;
  for (const GivenSetting& given : options)
    if (!values.emplace(given.name, Written{given.value, given.where}).second)
      return error(Code::invalid_argument, given.where + ": " + given.name + " is there twice");
  return values;
}

Written find(const Setting& setting, const WrittenValues& options, const Lookup& environment,
             const WrittenValues& file) {
  if (const auto given = options.find(setting.name); given != options.end()) return given->second;
  const std::string variable = variable_of(setting.name);
  if (auto set = environment(variable)) return {std::move(*set), "$" + variable};
  if (const auto in_file = file.find(setting.name); in_file != file.end()) return in_file->second;
  return {std::string(setting.standard), "default"};
}

/// Where each setting comes from, by name.
class Origins {
 public:
  explicit Origins(const std::vector<std::string>& origins) : origins_(origins) {}
  const std::string& of(std::string_view name) const {
    const auto all = all_settings();
    const auto at = std::ranges::find(all, name, &Setting::name);
    return origins_[static_cast<std::size_t>(at - all.begin())];
  }
  bool is_set(std::string_view name) const { return of(name) != "default"; }

 private:
  const std::vector<std::string>& origins_;
};

void settle_workers(EffectiveSettings& effective) {
  const Origins origins(effective.origins);
  Settings& settings = effective.settings;
  const std::uint32_t base = settings.forwarder_workers;
  const bool unset =
      !origins.is_set("max_forwarder_workers") && origins.is_set("forwarder_workers");
  if (settings.max_forwarder_workers == 0 || unset) settings.max_forwarder_workers = 2 * base;
  if (settings.max_forwarder_workers >= base) return;
  effective.warnings.push_back(origins.of("max_forwarder_workers") +
                               ": max_forwarder_workers is below forwarder_workers, so there are " +
                               std::to_string(base) + " always");
  settings.max_forwarder_workers = base;
}

Status settle_proxies(EffectiveSettings& effective) {
  Settings& settings = effective.settings;
  if (!settings.x_real_ip) {
    if (!settings.trusted_proxies.empty())
      effective.warnings.push_back(Origins(effective.origins).of("trusted_proxies") +
                                   ": trusted_proxies does nothing without x_real_ip: true");
    return {};
  }
  if (settings.trusted_proxies.empty()) {
    settings.proxies = tracker::AddressList::local();
    return {};
  }
  SLUICE_LET(proxies, tracker::AddressList::parse(settings.trusted_proxies));
  settings.proxies = std::move(proxies);
  return {};
}

}  // namespace

std::string variable_of(std::string_view name) {
  std::string variable = "RETRACKER_";
  for (const char c : name) variable += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return variable;
}

std::string no_such_setting(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Setting& setting : all_settings()) names.push_back(setting.name);
  const std::string meant = did_you_mean(name, names);
  return "there is no setting " + in_quotes(name) + (meant.empty() ? "" : ": " + meant);
}

Result<GivenSetting> parse_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return error(Code::invalid_argument,
                 "--set " + in_quotes(text) + ": write name=value, as in --set age=60");
  const std::string name = spelled(text.substr(0, equals));
  if (!is_setting(name))
    return error(Code::invalid_argument, "--set: " + no_such_setting(text.substr(0, equals)));
  return GivenSetting{.name = name, .value = text.substr(equals + 1), .where = "--set"};
}

Result<EffectiveSettings> read_settings(const SettingsSources& sources) {
  EffectiveSettings effective;
  SLUICE_LET(options, option_values(sources.options));
  WrittenValues file;
  const auto path = sources.config ? sources.config : sources.environment("RETRACKER_CONFIG");
  if (path) {
    SLUICE_LET(read, read_file(*path, effective.warnings));
    file = std::move(read);
  }
  for (const Setting& setting : all_settings()) {
    Written written = find(setting, options, sources.environment, file);
    if (const Status set = setting.set(effective.settings, written.value); !set.ok())
      return error(Code::invalid_argument,
                   written.where + ": " + std::string(setting.name) + " " +
                       in_quotes(setting.is_secret ? kHidden : written.value) + ": " +
                       set.message());
    effective.origins.push_back(std::move(written.where));
  }
  settle_workers(effective);
  SLUICE_TRY(settle_proxies(effective));
  if (!effective.settings.hash_allow_file.empty() && !effective.settings.hash_deny_file.empty())
    return error(Code::invalid_argument,
                 "hash_allow_file and hash_deny_file are both set: choose one");
  if (!effective.settings.stats_user.empty() && effective.settings.stats_password.empty())
    return error(Code::invalid_argument,
                 "stats_user is set without stats_password, which protects nothing: set both");
  return effective;
}

std::string shown(const Setting& setting, const Settings& settings) {
  std::string text = setting.show(settings);
  return setting.is_secret && !text.empty() ? std::string(kHidden) : text;
}

void write_value(codec::json::Writer& writer, const Setting& setting, const Settings& settings) {
  const std::string text = shown(setting, settings);
  switch (setting.shape) {
    case Shape::toggle:
      writer.boolean(text == "true");
      return;
    case Shape::number:
      writer.raw(text);
      return;
    case Shape::text:
      writer.string(text);
      return;
    case Shape::list:
      break;
  }
  writer.array();
  for (const std::string& one : settings.trusted_proxies) writer.string(one);
  writer.end_array();
}

}  // namespace sluice::cli
