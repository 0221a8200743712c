// SPDX-License-Identifier: MIT
// What every call into the file system needs.
#pragma once

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace sluice::migrate {

/// Makes the call until no signal interrupts it.
template <class Call>
auto retried(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// A name in a directory with the NUL that system calls want, without memory of its own.
class CName {
 public:
  explicit CName(std::string_view name) {
    const bool is_name = !name.empty() && name.size() < bytes_.size() && name != "." &&
                         name != ".." && name.find('/') == name.npos &&
                         name.find('\0') == name.npos;
    if (is_name) std::memcpy(bytes_.data(), name.data(), name.size());
    bytes_[is_name ? name.size() : 0] = '\0';
  }

  /// Whether it is one: 1 to 255 bytes, no '/' and no NUL in it, not "." or "..". Anything else
  /// becomes an empty name, with which every call fails: a damaged ledger must not lead elsewhere.
  bool valid() const { return bytes_[0] != '\0'; }
  const char* c_str() const { return bytes_.data(); }

 private:
  std::array<char, 256> bytes_;
};

/// The name of a descriptor's magic link. It leads to the very file that the descriptor holds, even
/// if that is a symbolic link or has no name, in calls that take no O_PATH descriptor.
class MagicLink {
 public:
  explicit MagicLink(int fd) {
    constexpr std::string_view kFolder = "/proc/self/fd/";
    std::memcpy(path_.data(), kFolder.data(), kFolder.size());
    *std::to_chars(path_.data() + kFolder.size(), path_.data() + path_.size() - 1, fd).ptr = '\0';
  }
  const char* c_str() const { return path_.data(); }

 private:
  std::array<char, 32> path_;
};

}  // namespace sluice::migrate
