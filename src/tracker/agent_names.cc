// SPDX-License-Identifier: MIT
#include "tracker/agent_names.h"

#include <algorithm>

#include "tracker/client_name.h"

namespace sluice::tracker {

std::string agent_name(std::string_view user_agent) {
  std::string name(user_agent.substr(0, user_agent.find(' ')).substr(0, kAgentBytesMax));
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) name[slash] = ' ';
  const auto is_odd = [](char c) { return c < ' ' || c > '~'; };
  return std::ranges::any_of(name, is_odd) ? std::string() : name;
}

void AgentNames::note(const PeerId& id, std::string_view user_agent) {
  if (tells_client(id)) return;
  std::string name = agent_name(user_agent);
  if (name.empty()) return;
  const MutexLock lock(mutex_);
  if (names_.size() >= kAgentsMax && !names_.contains(id)) names_.clear();
  names_[id] = std::move(name);
}

std::string AgentNames::name_of(const PeerId& id) const {
  if (tells_client(id)) return client_name(id);
  const MutexLock lock(mutex_);
  const auto found = names_.find(id);
  return found != names_.end() ? found->second : std::string(kUnknownClient);
}

}  // namespace sluice::tracker
