// SPDX-License-Identifier: MIT
// Strings whose memory a thread uses again, for what is made anew for every directory: asking for
// it each time costs more than filling it.
#pragma once

#include <string>

namespace sluice::migrate {

/// An empty string, with memory that was kept on this thread, if any was.
std::string spare_text();

/// Keeps the memory of `text`, which is not needed any more, for this thread. A few of them, and
/// none that is large.
void keep_text(std::string text);

}  // namespace sluice::migrate
