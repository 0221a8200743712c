// SPDX-License-Identifier: MIT
#include "sluiced/context.h"

#include <cstdio>
#include <string>

#include "cli/time.h"

namespace sluice::cli {

Context::Context(Settings settings) : settings_(std::move(settings)) {
  log_ = [least = settings_.log_level](LogLevel level, std::string_view line) {
    if (level < least) return;
    // One fwrite, so that lines of several threads do not mix.
    const std::string text = format_time(system_clock().wall()) + " " + log_level_name(level) +
                             " " + std::string(line) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
}

Result<std::unique_ptr<kv::Store>> Context::open_store() const {
  return kv::open_lmdb({.dir = settings_.data, .map_bytes = settings_.store_bytes, .log = log_});
}

}  // namespace sluice::cli
