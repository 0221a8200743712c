// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tests/queue/sim/actor.h"
#include "tests/queue/sim/world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kOldTokens = 8;

/// Claims, and then does with its leases what workers do: mostly finishes them, sometimes late,
/// sometimes never, and now and then with a token that is long over.
class WorkerActor final : public Actor {
 public:
  using Actor::Actor;

 private:
  struct Held {
    std::string queue;
    Token token;
    WallTime deadline;
    bool paused = false;  // Sleeps past its deadline, then goes on as if nothing had happened.
  };

  void step() override {
    if (!old_.empty() && chance(0.1)) return use_old();
    if (held_.empty() || chance(0.35)) return claim();
    if (chance(0.05)) return drop(below(held_.size()));
    finish();
  }

  void forget() override {
    for (const Held& held : held_) keep_old(held);
    held_.clear();
  }

  void claim() {
    Call call = world_.new_call(Verb::claim, process_, chance(0.6));
    call.claim.worker = "c" + std::to_string(call.number);
    const auto& names = world_.queue_names();
    const std::size_t first = below(names.size());
    call.claim.queues = {names[first]};
    if (names.size() > 1 && chance(0.3))
      call.claim.queues.push_back(names[(first + 1) % names.size()]);
    call.claim.jobs_max = chance(0.5) ? 1 : 1 + below(8);
    if (chance(0.02)) call.claim.jobs_max = 64;
    if (chance(0.3)) call.claim.lease = world_.draw_lease();
    if (chance(0.1)) call.claim.skip_groups = {world_.group_names()[0]};
    make(call);
  }

  void finish() {
    const double kind = world_.random().unit();
    const Verb verb =
        kind < 0.5 ? Verb::ack
                   : (kind < 0.7 ? Verb::fail : (kind < 0.85 ? Verb::release : Verb::extend));
    Call call = world_.new_call(verb, process_, chance(0.5));
    const std::size_t count = verb != Verb::extend && chance(0.3) ? 1 + below(held_.size()) : 1;
    call.batch = count > 1;
    call.all_or_none = call.batch && chance(0.2);
    const std::size_t start = below(held_.size());
    for (std::size_t i = 0; i < count; ++i) {
      Held& held = held_[(start + i) % held_.size()];
      if (chance(0.08)) held.paused = true;
      if (held.paused && held.deadline > world_.now()) continue;
      call.items.push_back(item_for(call, held));
    }
    if (!call.items.empty()) make(call);
  }

  Item item_for(const Call& call, const Held& held) {
    Item item{.queue = held.queue, .token = held.token};
    item.text = "c" + std::to_string(call.number);
    if (call.verb == Verb::extend && chance(0.5)) item.span = world_.draw_lease();
    if (call.verb == Verb::fail && chance(0.3)) item.span = chance(0.5) ? 0ms : draw_delay();
    if (call.verb == Verb::fail) item.flag = chance(0.1);
    if (call.verb == Verb::release && chance(0.3)) item.span = draw_delay();
    if (call.verb == Verb::ack && chance(0.1)) {
      item.children = {draw_job(call, 0, ".a" + held.token.to_string()),
                       draw_job(call, 0, ".b" + held.token.to_string())};
    }
    return item;
  }

  void use_old() {
    constexpr std::array kVerbs = {Verb::ack, Verb::fail, Verb::release, Verb::extend};
    Call call = world_.new_call(kVerbs[below(4)], process_, chance(0.3));
    call.items = {item_for(call, old_[below(old_.size())])};
    make(call);
  }

  void learn(const Call& call) override {
    for (const Lease& lease : call.leases)
      if (std::ranges::find(held_, lease.token, &Held::token) == held_.end())
        held_.push_back({lease.queue, lease.token, lease.deadline});
    if (call.doubtful()) return;
    for (const Item& item : call.items) {
      const auto at = std::ranges::find(held_, item.token, &Held::token);
      if (at == held_.end()) continue;
      const bool extended = call.verb == Verb::extend && item.status.ok();
      if (extended) at->deadline = item.deadline;
      const bool over = item.status.ok() || item.status.code() == Code::lease_lost;
      if (!extended && over) drop(static_cast<std::size_t>(at - held_.begin()));
    }
  }

  void drop(std::size_t index) {
    keep_old(held_[index]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void keep_old(const Held& held) {
    old_.push_back(held);
    if (old_.size() > kOldTokens) old_.erase(old_.begin());
  }

  std::vector<Held> held_;
  std::vector<Held> old_;
};

}  // namespace

std::unique_ptr<Actor> make_worker(World& world, std::size_t process) {
  return std::make_unique<WorkerActor>(world, process);
}

}  // namespace sluice::queue::sim
