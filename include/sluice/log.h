// SPDX-License-Identifier: MIT
// The library never prints. What it has to say goes to the one sink that the program gives it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sluice {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

const char* log_level_name(LogLevel level);

/// Called from any thread, with a single line that has no newline and lives for the call only.
/// Must not call back into the object that logs. An empty sink discards everything.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

/// A sink that writes "level: line" to standard error: the default of small tools and examples.
LogSink stderr_log(LogLevel least = LogLevel::info);

}  // namespace sluice
