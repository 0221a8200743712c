// SPDX-License-Identifier: MIT
// The file behind a descriptor of any kind, and the calls that need to know which kind that is.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <tl/expected.hpp>

namespace sluice::migrate {

/// A file, folder, link or special that is held open, so that it stays the same one whatever
/// happens to its name. Does not own the descriptor. The members that change something return 0 or
/// an errno.
class Inode {
 public:
  enum class Opened : bool { for_data, as_path };  ///< as_path: by O_PATH.
  Inode(int fd, Opened opened) : fd_(fd), as_path_(opened == Opened::as_path) {}

  int stat(struct stat& info) const;
  int set_owner(uid_t uid, gid_t gid) const;  ///< -1: leave it.
  int set_mode(mode_t mode) const;            ///< Not of a link: it has none.
  int set_times(const timespec (&times)[2]) const;

  /// The names of the extended attributes, each with a NUL after it. No memory if there are none.
  tl::expected<std::string, int> xattr_names() const;
  /// Up to `bytes` of the value; its size.
  tl::expected<std::size_t, int> xattr(const char* name, void* value, std::size_t bytes) const;
  int set_xattr(const char* name, const void* value, std::size_t bytes) const;
  int remove_xattr(const char* name) const;

 private:
  int fd_;
  bool as_path_;
};

}  // namespace sluice::migrate
