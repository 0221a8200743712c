// SPDX-License-Identifier: MIT
// The queues and jobs of the crash tests. Everything about a job follows from its queue and id, and
// everything about a completion from its token, so that another process can make the same call
// again and a third one can tell what must have come of it.
#pragma once

#include <sluice/queue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// A queue is a letter here.
/// k: keeps done jobs, one shard, small limits.  g: forgets them, three shards, jobs that expire.
/// f: forgets them, fair.
inline constexpr std::string_view kCrashQueues = "kgf";
/// h: small limits.  s: four shards, fair. Both keep done jobs, and nothing expires.
inline constexpr std::string_view kHistoryQueues = "hs";

std::string queue_name(char queue);
char queue_letter(std::string_view name);
queue::QueueConfig config_of(char queue);
/// How many jobs of the group may be leased at once.
std::optional<std::uint32_t> limit_of(char queue, std::string_view group);
/// Whether a job that is done stays (for longer than any test lasts).
bool keeps_done(char queue);
Status set_up_queues(queue::Queues& queues, std::string_view letters);

queue::NewJob job_of(char queue, const std::string& id);
/// What an ack under this token passes on. The result names the token.
queue::AckRequest ack_of(char queue, const queue::Token& token);
/// The result of what the drain role acks, which has no children.
inline constexpr std::string_view kDrained = "drained";
/// The ids of the children of that ack, which are in the same queue.
std::vector<std::string> children_of(std::string_view token);

}  // namespace sluice::test
