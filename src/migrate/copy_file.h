// SPDX-License-Identifier: MIT
// Making one name on the destination like it is on the source.
//
// Whatever is made is put together under CopyOrder::temp or, see CopyRules::unnamed, no name at
// all: content, owner, mode, ACLs, extended attributes and times. It gets its name in one step: at
// no moment, and after no kill, does a name hold a part of a content. After a failure the temporary
// name is gone and the destination as it was. What a killed run left under the temporary name is
// removed on the way.
//
// Nothing here waits for the disk, except by CopyRules::verify: whoever has to know that the
// content survives a loss of power calls syncfs() before noting it down.
//
// All functions may be called from any number of threads, as long as no two orders share a
// destination directory and a temporary name.
#pragma once

#include "migrate/copy_order.h"

namespace sluice::migrate {

/// Copies the file `wanted`. Refuses (drift_src) if kind, size or time on the source are not
/// `wanted`'s, before and after the reading. If nothing was to be replaced, a name that appeared
/// there in the meantime is left alone (drift_dst). Otherwise the name must be still_is() what the
/// ledger says right before it is replaced (drift_dst). Holes stay holes; blocks are shared where
/// the file system can do that and nothing is to be verified.
CopyResult<Copied> copy_file(const CopyOrder& order, const CopyRules& rules);

/// The same for a symbolic link: its target must be `wanted`'s.
CopyResult<Copied> copy_link(const CopyOrder& order, const CopyRules& rules);

/// The same for a fifo, a socket (its node; nobody listens there) or a device.
CopyResult<Copied> copy_special(const CopyOrder& order, const CopyRules& rules);

/// A name on the destination that another name is to share its file with.
struct LinkTarget {
  int folder = -1;     ///< The directory on the destination.
  const Entry& known;  ///< What the ledger says stands there, with the name.
};

/// Makes `wanted`'s name another name of the file `first` on the destination; the source is not
/// looked at, and no rule is needed. drift_dst if `first` is not what the ledger says, or as with
/// copy_file(). Succeeds if both are the same file already. EMLINK: copy it instead.
CopyResult<Copied> link_to(const CopyOrder& order, const LinkTarget& first);

/// Makes the folder `name` in the directory `folder` of the destination, for its owner only
/// (0700) until set_attributes(). Whether it was made: false if there is one already. in_the_way if
/// something else stands there.
CopyResult<bool> make_folder(int folder, std::string_view name);

/// Gives what stands at `wanted`'s name on the destination the owner, mode, time, ACLs and extended
/// attributes that the source has now. An empty name means the directories of the order themselves.
/// ACLs and extended attributes that the source does not have are removed. The order has no
/// temporary name; `replaced` is what the ledger says of the destination, null if it is not known.
/// drift_src and drift_dst as with copy_file(), in_the_way if the two are not of one kind. After a
/// failure some of it may be done.
CopyResult<Copied> set_attributes(const CopyOrder& order, const CopyRules& rules);

}  // namespace sluice::migrate
