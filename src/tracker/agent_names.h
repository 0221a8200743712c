// SPDX-License-Identifier: MIT
// What programs call themselves over HTTP: names for peers whose ids do not tell.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "tracker/announce.h"

namespace sluice::tracker {

/// So many are remembered. Strangers can make up more; then all are forgotten, and those who are
/// still there say it again with their next announce.
inline constexpr std::size_t kAgentsMax = 10'000;
inline constexpr std::size_t kAgentBytesMax = 64;

/// "Deluge 2.1.1" of "Deluge/2.1.1 libtorrent/2.0.8"; printable ASCII, cut at kAgentBytesMax.
/// Empty if there is nothing to call a program by.
std::string agent_name(std::string_view user_agent);

/// Concurrency: every member may be called from any thread.
class AgentNames {
 public:
  /// Costs next to nothing for a peer whose id tells.
  void note(const PeerId& id, std::string_view user_agent);
  /// As its id says, else as was noted, else "unknown".
  std::string name_of(const PeerId& id) const;

 private:
  mutable Mutex mutex_;
  std::map<PeerId, std::string> names_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::tracker
