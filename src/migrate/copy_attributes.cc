// SPDX-License-Identifier: MIT
#include "migrate/copy_attributes.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "migrate/stat_entry.h"

namespace sluice::migrate {
namespace {

constexpr std::size_t kValueBytesMax = 64 * 1024;  // XATTR_SIZE_MAX.
constexpr std::string_view kAcl = "system.posix_acl_";
constexpr mode_t kSetIds = S_ISUID | S_ISGID;

/// What a file system or the kernel answers that does not do this at all, or not for us.
bool is_refusal(int error) {
  return error == EPERM || error == EACCES || error == ENOTSUP || error == ENOSYS ||
         error == EINVAL || error == E2BIG || error == ERANGE;
}

CopyFault io(int error, std::string detail) {
  return {.error = error, .detail = std::move(detail)};
}

template <class Visit>
void each_name(const std::string& names, const Visit& visit) {
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1)
    visit(names.c_str() + at);
}

bool has_name(const std::string& names, std::string_view wanted) {
  bool found = false;
  each_name(names, [&](const char* name) { found = found || name == wanted; });
  return found;
}

bool wants_xattr(std::string_view name, const CopyRules& rules) {
  return name.starts_with(kAcl) ? rules.modes : rules.xattrs;
}

/// A label that the system gave a new file is not ours to remove.
bool may_remove(std::string_view name) {
  return name.starts_with(kAcl) || name.starts_with("user.") || name.starts_with("trusted.") ||
         name == "security.capability";
}

class AttributeCopy {
 public:
  AttributeCopy(const AttributeSource& from, const AttributeTarget& to, const CopyRules& rules)
      : from_(from), to_(to.inode), rules_(rules) {
    const Entry* replaced = to.replaced;
    if (rules.owners || replaced != nullptr) {
      uid_ = rules.owners ? from.info.st_uid : replaced->uid;
      gid_ = rules.owners ? from.info.st_gid : replaced->gid;
    }
    if ((rules.modes || replaced != nullptr) && !S_ISLNK(from.info.st_mode))
      mode_ = rules.modes ? from.info.st_mode & 07777 : replaced->mode;
  }

  CopyResult<Copied> run(const struct stat* assumed) {
    struct stat now;
    if (assumed != nullptr) {
      now = *assumed;
      set_all(now, true);
    } else if (stat(now)) {
      set_all(now, !is_same(now.st_mtim, from_.info.st_mtim));
    }
    // What was assumed may be wrong, and a new owner may take bits of the mode away. It is also
    // read because file systems round times, drop bits of modes and map owners.
    if (stat(now) && !is_right(now)) {
      set_all(now, !is_same(now.st_mtim, from_.info.st_mtim));
      stat(now);
    }
    if (fault_) return tl::unexpected(std::move(*fault_));
    return Copied{.entry = entry_of(now), .lost = lost_};
  }

 private:
  bool stat(struct stat& now) {
    if (fault_) return false;
    if (const int error = to_.stat(now); error != 0) fault_ = io(error, "fstat");
    return !fault_;
  }

  /// As far as we were let.
  bool is_right(const struct stat& now) const {
    const bool owner = !uid_ || lost_.owner || (uid_ == now.st_uid && gid_ == now.st_gid);
    return owner && (!mode_ || lost_.mode || mode_ == (now.st_mode & 07777));
  }

  /// A new owner takes set-user-id, set-group-id and capabilities away, and an ACL brings its own
  /// mode along: hence this order.
  void set_all(struct stat& now, bool times) {
    set_owner(now);
    if (!fault_) set_mode(now);
    if (!fault_) copy_xattrs();
    if (!fault_ && times && (S_ISREG(now.st_mode) || rules_.times)) set_times();
  }

  void set_owner(struct stat& now) {
    if (!uid_ || (uid_ == now.st_uid && gid_ == now.st_gid)) return;
    int error = to_.set_owner(*uid_, *gid_);
    if (is_refusal(error)) {
      lost_.owner = rules_.owners;
      // Somebody who may not give files away may still be in the group.
      if (gid_ != now.st_gid) error = to_.set_owner(static_cast<uid_t>(-1), *gid_);
    }
    if (error != 0 && !is_refusal(error)) fault_ = io(error, "fchown");
    if (error == 0 && !S_ISDIR(now.st_mode)) now.st_mode &= ~kSetIds;
  }

  void set_mode(const struct stat& now) {
    if (!mode_) return;
    // Whoever owns it instead was never meant to be the one that it runs as.
    if (lost_.owner) *mode_ &= ~kSetIds;
    if (mode_ == (now.st_mode & 07777)) return;
    const int error = to_.set_mode(*mode_);
    if (is_refusal(error)) {
      lost_.mode = true;
    } else if (error != 0) {
      fault_ = io(error, "fchmod");
    }
  }

  void copy_xattrs() {
    remove_foreign();
    if (from_.xattrs.empty()) return;
    const auto value = std::make_unique_for_overwrite<char[]>(kValueBytesMax);
    each_name(from_.xattrs, [&](const char* name) {
      if (!fault_ && wants_xattr(name, rules_)) copy_xattr(name, value.get());
    });
  }

  void copy_xattr(const char* name, char* value) {
    const auto got = from_.inode.xattr(name, value, kValueBytesMax);
    if (!got && got.error() == ENODATA) return;
    const int error = got ? to_.set_xattr(name, value, *got) : got.error();
    if (is_refusal(error)) {
      lost_.xattrs = true;
    } else if (error != 0) {
      fault_ = io(error, std::string("extended attribute ") + name);
    }
  }

  /// A new file may have got an ACL from its folder; an old one may have anything.
  void remove_foreign() {
    const auto names = known_xattrs(to_);
    if (!names) {
      fault_ = io(names.error(), "flistxattr");
      return;
    }
    each_name(*names, [&](const char* name) {
      if (!may_remove(name) || !wants_xattr(name, rules_) || has_name(from_.xattrs, name)) return;
      const int error = to_.remove_xattr(name);
      if (is_refusal(error)) lost_.xattrs = true;
    });
  }

  void set_times() {
    const int error = to_.set_times({from_.info.st_atim, from_.info.st_mtim});
    if (error != 0) fault_ = io(error, "futimens");
  }

  const AttributeSource& from_;
  const Inode& to_;
  const CopyRules& rules_;
  std::optional<uid_t> uid_ = {};  // What is to be set, if it is. Both or neither.
  std::optional<gid_t> gid_ = {};
  std::optional<mode_t> mode_ = {};
  Lost lost_ = {};
  std::optional<CopyFault> fault_ = {};
};

}  // namespace

tl::expected<std::string, int> known_xattrs(const Inode& inode) {
  auto names = inode.xattr_names();
  if (!names && is_refusal(names.error())) return std::string();
  return names;
}

bool has_acl(const std::string& names) {
  return names.find(kAcl) != names.npos;
}

CopyResult<Copied> copy_attributes(const AttributeSource& from, const AttributeTarget& to,
                                   const CopyRules& rules) {
  return AttributeCopy(from, to, rules).run(to.assumed);
}

}  // namespace sluice::migrate
