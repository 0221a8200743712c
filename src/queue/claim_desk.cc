// SPDX-License-Identifier: MIT
#include "queue/claim_desk.h"

#include <algorithm>
#include <semaphore>

#include "codec/tuple.h"
#include "queue/records.h"

namespace sluice::queue {

struct ClaimDesk::Caller {
  const ClaimRequest& request;
  std::binary_semaphore woken{0};
  bool served = false;  // Written before `woken` is released, read after.
  Result<Claimed> answer = Claimed{};
};

Result<Claimed> ClaimDesk::claim(const ClaimRequest& request) {
  codec::TupleWriter name;
  for (const auto& queue : request.queues) name.string(queue);
  name.number(0);
  for (const auto& group : request.skip_groups) name.string(group);
  const std::string line_name = name.take();
  Caller caller{.request = request};
  {
    MutexLock lock(mutex_);
    Line& line = lines_[line_name];
    line.callers.push_back(&caller);
    const bool leads = !line.busy;
    line.busy = true;
    if (leads) caller.woken.release();
  }
  caller.woken.acquire();
  if (!caller.served) lead(line_name, caller);
  return std::move(caller.answer);
}

std::vector<ClaimDesk::Caller*> ClaimDesk::next_round(Line& line, Caller& leader) {
  std::vector<Caller*> round{&leader};
  std::erase(line.callers, &leader);
  std::size_t jobs = leader.request.jobs_max;
  auto rest = line.callers.begin();
  for (; rest != line.callers.end(); ++rest) {
    jobs += (*rest)->request.jobs_max;
    if (jobs > kClaimJobsMax) break;
    round.push_back(*rest);
  }
  line.callers.erase(line.callers.begin(), rest);
  return round;
}

void ClaimDesk::lead(const std::string& name, Caller& leader) {
  std::vector<Caller*> round;
  {
    MutexLock lock(mutex_);
    round = next_round(lines_[name], leader);
  }
  ClaimPlan plan{.queues = leader.request.queues, .skip_groups = leader.request.skip_groups};
  for (const Caller* caller : round)
    plan.takers.push_back({.jobs_max = caller->request.jobs_max,
                           .lease = caller->request.lease,
                           .worker = caller->request.worker});
  auto outcome = serve_(plan);
  {
    MutexLock lock(mutex_);
    const auto line = lines_.find(name);
    if (line->second.callers.empty())
      lines_.erase(line);
    else
      line->second.callers.front()->woken.release();  // It leads the next round.
  }
  for (std::size_t i = 0; i < round.size(); ++i) {
    Caller& caller = *round[i];
    if (outcome) {
      caller.answer = Claimed{.leases = std::move(outcome->leases[i]), .moved = outcome->moved};
      if (outcome->next) caller.answer->next = to_wall(*outcome->next);
    } else {
      caller.answer = Failure{outcome.error()};
    }
    if (&caller == &leader) continue;
    caller.served = true;
    caller.woken.release();  // From here on the caller may be gone.
  }
}

}  // namespace sluice::queue
