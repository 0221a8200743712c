// SPDX-License-Identifier: MIT
// Arithmetic on ordered byte keys.
#pragma once

#include <sluice/kv.h>

#include <string>
#include <string_view>

namespace sluice::kv {

/// The least key after `key`.
inline std::string after_key(std::string_view key) {
  std::string next(key);
  next.push_back('\0');
  return next;
}

/// The least key after all keys that start with `prefix`, which must hold a byte other than 0xff.
std::string after_prefix(std::string_view prefix);

/// Whether the first byte leaves the key to the users of the store.
bool is_user_key(std::string_view key);

/// Adds the bytes of the mark.
void append(std::string& bytes, const Mark& mark);

/// A key for messages: printable bytes as they are, others as \xNN, at most 64 of them.
std::string printable(std::string_view key);

}  // namespace sluice::kv
