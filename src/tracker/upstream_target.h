// SPDX-License-Identifier: MIT
// What an upstream tracker is asked over HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tracker/announce.h"

namespace sluice::tracker {

/// Views, which the caller keeps alive.
struct UpstreamExtras {
  /// The address to be known by, if the one that the upstream sees is not it.
  std::optional<Endpoint> address = {};
  std::string_view tracker_id = {};  ///< What it said in its last answer; empty: left out.
};

/// `base`, a URL or its path, perhaps with a query, with all of the announce appended to the query;
/// a fragment is dropped. Every byte that is not a letter, a digit or one of "-._~" is written as
/// %XX, so that nobody can read a space for a plus. Left out: the event if there is none, the
/// number of wanted peers if it is not said, the key if it is 0, the announce's own address.
std::string upstream_target(std::string_view base, const Announce& announce,
                            const UpstreamExtras& extras = {});

}  // namespace sluice::tracker
