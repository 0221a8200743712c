// SPDX-License-Identifier: MIT
// Files that people write in YAML.
#pragma once

#include <sluice/result.h>
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::cli {

inline constexpr std::size_t kYamlBytesMax = 4 * 1024 * 1024;

/// The whole file. `invalid_argument` if it cannot be read or is larger than kYamlBytesMax.
Result<std::string> read_yaml_file(const std::string& path);

/// The first document; null if there is nothing in it. `invalid_argument` names `name`, the line
/// and what is wrong.
Result<YAML::Node> parse_yaml(const std::string& text, std::string_view name);

/// "forwarders.yaml:3".
std::string place_of(std::string_view name, const YAML::Node& node);

}  // namespace sluice::cli
