// SPDX-License-Identifier: MIT
// What programs that serve until a signal ends them do first.
#pragma once

#include <csignal>

namespace sluice::cli {

/// SIGINT, SIGTERM and SIGHUP wait for sigwait() from now on, in this thread and in those that it
/// starts; a peer that has left is no signal. Returns these three.
sigset_t block_signals();

/// Every connection is a descriptor, and the usual limit is for programs that have few.
void raise_descriptor_limit();

}  // namespace sluice::cli
