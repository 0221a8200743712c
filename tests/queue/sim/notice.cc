// SPDX-License-Identifier: MIT
// The probes that a single call can hit.
#include <algorithm>

#include "tests/queue/sim/world.h"

namespace sluice::queue::sim {

void World::notice(const Call& call, std::uint64_t conflicts_before) {
  const auto refused =
      std::ranges::count_if(call.items, [](const Item& item) { return !item.status.ok(); });
  const bool some_ok = refused < std::ranges::ssize(call.items);
  const bool ok = call.status.ok() && (call.items.empty() || some_ok);
  if (ok && store_->stats().conflicts + store_->count(kv::Fault::conflict) > conflicts_before)
    tally_.hit(call.intruded ? Probe::intruder_made_conflict : Probe::conflict_retried);
  if (call.batch && refused > 0 && some_ok) tally_.hit(Probe::batch_partly_refused);
  if (call.all_or_none && refused > 0 && !call.doubtful())
    tally_.hit(Probe::batch_all_or_none_refused);
  const auto refused_with = [&](Code code) {
    return std::ranges::any_of(call.items,
                               [&](const Item& item) { return item.status.code() == code; });
  };
  if (call.verb == Verb::enqueue && refused_with(Code::limit_exceeded))
    tally_.hit(Probe::backlog_cap_refused);
  if (call.verb == Verb::enqueue && refused_with(Code::storage_full)) full_refused_ = true;
  if (call.verb == Verb::ack && ok && full_ && full_refused_)
    tally_.hit(Probe::full_enqueue_refused_ack_accepted);
  if (call.verb == Verb::break_lease && ok) tally_.hit(Probe::lease_broken);
  if (call.verb == Verb::sweep && call.doubtful() && store_->down())
    tally_.hit(Probe::sweep_interrupted_by_crash);
  notice_operation(call);
}

void World::notice_operation(const Call& call) {
  const bool ok = call.status.ok() && !call.items.empty() && call.items.front().status.ok();
  if (call.tries <= 1 || call.operation.empty() || !ok) return;
  if (call.applied == Applied::yes) tally_.hit(Probe::unknown_applied_settled);
  if (call.applied == Applied::no) tally_.hit(Probe::unknown_lost_settled);
}

}  // namespace sluice::queue::sim
