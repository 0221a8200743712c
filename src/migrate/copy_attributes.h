// SPDX-License-Identifier: MIT
// Everything of a file but its content, carried from one to another.
#pragma once

#include <sys/stat.h>

#include <string>

#include "migrate/copy_order.h"
#include "migrate/inode.h"

namespace sluice::migrate {

/// What attributes are read from, with what is known of it already.
struct AttributeSource {
  Inode inode;
  const struct stat& info;
  std::string xattrs = {};  ///< Inode::xattr_names().
};

/// What gets them.
struct AttributeTarget {
  Inode inode;
  /// What the rules leave as it was, or null.
  const Entry* replaced = nullptr;
  /// What fstat would say of it, or null: to ask. Need not be right, if only asking costs more; its
  /// times are not looked at.
  const struct stat* assumed = nullptr;
};

/// The names of the extended attributes of `inode`; none on a file system that knows nothing of
/// them. Never EPERM or ENOTSUP.
tl::expected<std::string, int> known_xattrs(const Inode& inode);

/// Whether the names (Inode::xattr_names()) contain an ACL.
bool has_acl(const std::string& names);

/// Gives `to` the owner, mode, ACLs, extended attributes and times of `from`, as the rules say.
/// Extended attributes that `from` does not have are removed, but for labels of the system's own
/// (security.*). Calls nothing for what is right already. Returns what `to` is then: `entry` and
/// `lost` are set.
CopyResult<Copied> copy_attributes(const AttributeSource& from, const AttributeTarget& to,
                                   const CopyRules& rules);

}  // namespace sluice::migrate
