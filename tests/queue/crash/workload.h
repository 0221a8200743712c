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
/// What the batches of k call back. Nobody works on these: they are counted.
inline constexpr const char* kBatchCalls = "batch calls";
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

/// The beginning of an id says what else the job has.
/// one-: a unique key, one of a few, and the policy keep.
inline constexpr std::string_view kUniqueStem = "one-";
/// link-NAME.N: waits for link-NAME.N-1 to end, however. Only in k, which keeps those.
inline constexpr std::string_view kLinkStem = "link-";
std::string link_id(const std::string& name, std::size_t index);
/// The id that a link waits for, if any.
std::optional<std::string> link_before(std::string_view id);
/// in-BATCH-N: a member of that batch. Only in k.
inline constexpr std::string_view kMemberStem = "in-";
queue::NewJob job_of(char queue, const std::string& id);
/// What an ack under this token passes on. The result names the token.
queue::AckRequest ack_of(char queue, const queue::Token& token);
/// The result of what the drain role acks, which has no children.
inline constexpr std::string_view kDrained = "drained";
/// The ids of the children of that ack, which are in the same queue.
std::vector<std::string> children_of(std::string_view token);

}  // namespace sluice::test
