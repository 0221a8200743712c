// SPDX-License-Identifier: MIT
// Endpoints as people and as packets write them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tracker/announce.h"

namespace sluice::tracker {

/// Of "192.0.2.1" or "2001:db8::1"; nothing if `text` is neither. Nothing is looked up. A mapped
/// address becomes IPv4.
std::optional<Endpoint> endpoint_of(std::string_view text, std::uint16_t port);

/// Appends "192.0.2.1" or "2001:db8::1": the address without brackets and port.
void append_address(std::string& out, const Endpoint& endpoint);

/// Of one entry of a compact list, kCompactBytes4 or kCompactBytes6 bytes. A mapped address becomes
/// IPv4.
Endpoint endpoint_of_compact(std::span<const std::uint8_t> entry);

/// Appends the entry to the list of its family.
void append_compact(PeerList& peers, const Endpoint& endpoint);

}  // namespace sluice::tracker
