// SPDX-License-Identifier: MIT
#include <sluice/log.h>

#include <cstdio>
#include <string>

namespace sluice {

const char* log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      break;
  }
  return "error";
}

LogSink stderr_log(LogLevel least) {
  return [least](LogLevel level, std::string_view line) {
    if (level < least) return;
    // One fwrite, so that lines of several threads do not mix.
    const std::string text =
        std::string(log_level_name(level)).append(": ").append(line).append("\n");
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
}

}  // namespace sluice
