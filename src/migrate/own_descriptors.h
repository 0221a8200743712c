// SPDX-License-Identifier: MIT
#pragma once

namespace sluice::migrate {

/// Gives the calling thread descriptors of its own: those that are open now, and no other thread
/// sees what it opens or closes from here on. The kernel then need not count who uses them, at
/// every call. False, and nothing has changed, where it is not allowed, and under ThreadSanitizer:
/// that knows descriptors by their numbers alone and takes those of two threads for one.
bool take_own_descriptors();

}  // namespace sluice::migrate
