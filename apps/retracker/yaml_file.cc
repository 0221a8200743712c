// SPDX-License-Identifier: MIT
#include "retracker/yaml_file.h"

#include <array>
#include <filesystem>
#include <fstream>

namespace sluice::cli {

Result<std::string> read_yaml_file(const std::string& path) {
  // A folder can be opened, but not be read.
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open() || std::filesystem::is_directory(path, ignored))
    return error(Code::invalid_argument, path + ": it cannot be read");
  std::string text;
  std::array<char, 64 * 1024> part;
  // It may be a pipe, whose size nobody knows.
  while (text.size() <= kYamlBytesMax && (file.read(part.data(), part.size()), file.gcount() > 0))
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return error(Code::invalid_argument, path + ": it cannot be read");
  if (text.size() > kYamlBytesMax)
    return error(Code::invalid_argument,
                 path + ": it has more than " + std::to_string(kYamlBytesMax) + " bytes");
  return text;
}

Result<YAML::Node> parse_yaml(const std::string& text, std::string_view name) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& problem) {
    return error(
        Code::invalid_argument,
        std::string(name) + ":" + std::to_string(problem.mark.line + 1) + ": " + problem.msg);
  }
}

std::string place_of(std::string_view name, const YAML::Node& node) {
  return std::string(name) + ":" + std::to_string(node.Mark().line + 1);
}

}  // namespace sluice::cli
