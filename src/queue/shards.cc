// SPDX-License-Identifier: MIT
#include "queue/shards.h"

#include <algorithm>

namespace sluice::queue {
namespace {

constexpr Millis kLookPeriod = 1'000;
constexpr Millis kRegisterPeriod = 10'000;

Result<std::vector<Bytes16>> read_claimers(Steps& steps, const QueueState& queue) {
  std::vector<Bytes16> processes;
  Status problem;
  SLUICE_TRY(steps.txn().scan(
      queue.keys.all(Space::claimer), {.isolation = kv::Isolation::snapshot},
      [&](std::string_view key, std::string_view value) {
        const auto expires = decode_claimer(value);
        if (!expires) {
          problem = expires.error();
          return false;
        }
        if (*expires > steps.now())
          processes.push_back(Bytes16::of(key.substr(key.size() - Bytes16::kSize)));
        return true;
      }));
  SLUICE_TRY(problem);
  return processes;
}

Result<Shared::Claimers> see_claimers(Steps& steps, const QueueState& queue) {
  auto claimers = steps.shared().claimers(queue.hash);
  const Millis now = steps.now();
  bool changed = false;
  if (claimers.seen == 0 || now - claimers.seen >= kLookPeriod) {
    SLUICE_LET(processes, read_claimers(steps, queue));
    claimers.processes = std::move(processes);
    claimers.seen = now;
    changed = true;
  }
  const Bytes16& self = steps.shared().process();
  const bool known = std::ranges::binary_search(claimers.processes, self);
  if (!known || now - claimers.registered >= kRegisterPeriod) {
    steps.txn().put(queue.keys.claimer(self), encode_claimer(now + kClaimerTtl));
    if (!known) {
      claimers.processes.insert(std::ranges::upper_bound(claimers.processes, self), self);
      claimers.seen = 0;  // Others may have come at the same time: look again at once.
    }
    claimers.registered = now;
    changed = true;
  }
  if (changed) steps.shared().set_claimers(queue.hash, claimers);
  return claimers;
}

}  // namespace

Result<ShardPlan> plan_shards(Steps& steps, QueueState& queue) {
  const std::uint32_t shards = queue.config().shards;
  if (shards == 1) return ShardPlan{.home = {0}};
  SLUICE_LET(claimers, see_claimers(steps, queue));
  const auto self = std::ranges::find(claimers.processes, steps.shared().process());
  const auto index = static_cast<std::size_t>(self - claimers.processes.begin());
  const std::size_t count = claimers.processes.size();
  ShardPlan plan;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const bool mine = count <= shards ? shard % count == index : index % shards == shard;
    (mine ? plan.home : plan.others).push_back(shard);
  }
  for (std::size_t i = plan.others.size(); i > 1; --i)
    std::swap(plan.others[i - 1], plan.others[steps.shared().draw_below(i)]);
  return plan;
}

Status sweep_claimers(Steps& steps, QueueState& queue) {
  if (queue.config().shards == 1) return {};
  SLUICE_LET(entries, steps.txn().scan(queue.keys.all(Space::claimer),
                                       {.isolation = kv::Isolation::snapshot}));
  for (const auto& entry : entries) {
    SLUICE_LET(expires, decode_claimer(entry.value));
    if (expires <= steps.now()) steps.txn().erase(entry.key);
  }
  return {};
}

}  // namespace sluice::queue
