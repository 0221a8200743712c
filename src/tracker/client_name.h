// SPDX-License-Identifier: MIT
// Which program a peer runs, as its id says.
#pragma once

#include <string>
#include <string_view>

#include "tracker/announce.h"

namespace sluice::tracker {

inline constexpr std::string_view kUnknownClient = "unknown";

/// The program and its version, such as "qBittorrent 4.5.2": of ids as "-qB4520-...", "M7-2-3--..."
/// and "A2-1-36-0-...". A program that is not in the table is called by its two letters; an id that
/// is of no such form is kUnknownClient. Ids are what strangers write: the name is printable ASCII.
std::string client_name(const PeerId& id);
/// Whether it is not kUnknownClient.
bool tells_client(const PeerId& id);

}  // namespace sluice::tracker
