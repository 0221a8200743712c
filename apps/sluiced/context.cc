// SPDX-License-Identifier: MIT
#include "sluiced/context.h"

#include <unistd.h>

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
  auto store =
      kv::open_lmdb({.dir = settings_.data, .map_bytes = settings_.store_bytes, .log = log_});
  if (store ||
      (store.error().code() != Code::not_found && store.error().code() != Code::permission_denied))
    return store;
  return error(Code::unavailable, store.error().message() +
                                      "; make the folder above it, or choose another with --data");
}

Result<std::unique_ptr<kv::Store>> Context::open_existing_store() const {
  if (access((settings_.data + "/data.mdb").c_str(), F_OK) != 0)
    return error(Code::not_found,
                 "there is no store in " + settings_.data + ": name the folder with --data");
  return open_store();
}

}  // namespace sluice::cli
