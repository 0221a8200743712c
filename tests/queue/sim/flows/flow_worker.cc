// SPDX-License-Identifier: MIT
// Those who work the jobs off, and those who meddle with them.
#include <algorithm>
#include <array>
#include <memory>

#include "tests/queue/sim/flows/flow_world.h"

namespace sluice::queue::sim {
namespace {

using namespace std::chrono_literals;

class FlowWorker final : public FlowActor {
 public:
  using FlowActor::FlowActor;

  void step() override {
    std::erase_if(held_, [&](const Held& held) { return held.over; });
    if (held_.empty() || chance(0.35)) return claim();
    if (chance(0.05)) {
      held_.erase(held_.begin());  // Forgotten: its lease will lapse.
      return;
    }
    const std::size_t index = below(held_.size());
    Held& held = held_[index];
    if (chance(0.06)) held.paused = true;
    if (held.paused && held.lease.deadline > world_.now()) return;
    held.over = true;
    Held& other = held_[(index + 1) % held_.size()];
    if (held_.size() > 1 && chance(0.2)) {
      other.over = true;
      return ack_both(held.lease, other.lease);
    }
    if (chance(0.72)) return ack(held.lease);
    fail(held.lease);
  }

  void forget() override { held_.clear(); }

 private:
  struct Held {
    Lease lease;
    bool paused = false;  // Sleeps past its deadline, then goes on as if nothing had happened.
    bool over = false;
  };

  void claim() {
    ClaimRequest request{.queues = world_.names(), .jobs_max = 1 + below(6), .worker = "w"};
    if (chance(0.3)) request.queues = {draw_queue()};
    if (chance(0.3)) request.lease = std::array<Duration, 3>{10ms, 5s, 10min}[below(3)];
    const auto leases = std::make_shared<std::vector<Lease>>();
    const std::uint64_t fired = world_.tally().fired;
    world_.make({.text = "claim x" + std::to_string(request.jobs_max),
                 .process = process_,
                 .with_operation = chance(0.5),
                 .repeatable = false,
                 .steady = false,  // It answers with the leases that are still held.
                 .run =
                     [request, leases](Queues& queues, FlowCall& call) {
                       ClaimRequest named = request;
                       named.operation = call.operation;
                       auto got = queues.claim(named);
                       *leases = got ? *std::move(got) : std::vector<Lease>();
                       for (const Lease& lease : *leases) call.answer += lease.id + " ";
                       return status_of(got);
                     },
                 .judge =
                     [this, leases, fired](const FlowCall& call) {
                       if (!call.intruded && call.tries == 1 && world_.tally().fired > fired)
                         world_.tally().hit(FlowProbe::schedule_fired_by_a_claim);
                       take(call, *leases);
                     }});
  }

  void take(const FlowCall& call, const std::vector<Lease>& leases) {
    for (const Lease& lease : leases) {
      const Life* life = world_.ledger().find(lease.queue, lease.id);
      if (life == nullptr || (life->lane != Lane::leased && call.tries == 1))
        world_.ledger().fail("claim: " + lease.id + " was handed out and is not leased");
      if (life != nullptr && life->asked != nullptr && !life->left_batch &&
          life->asked->batch != lease.batch)
        world_.ledger().fail("claim: " + lease.id + " is of another batch");
      world_.hint(lease.deadline);
      held_.push_back({.lease = lease});
    }
  }

  std::vector<NewJob> draw_children(const Lease& lease) {
    std::vector<NewJob> children;
    if (world_.crowded() || !chance(0.3)) return children;
    NewJob child{.queue = lease.queue, .payload = world_.nonce()};
    child.id = "c-" + child.payload;
    const Life* parent = world_.ledger().find(lease.queue, lease.id);
    const bool keyed = parent != nullptr && parent->asked != nullptr && parent->asked->unique;
    if (!lease.batch.empty() && chance(0.8)) child.batch = lease.batch;
    if (keyed && chance(0.5)) child.unique = parent->asked->unique;
    if (chance(0.3)) child.after = {{.id = lease.id, .policy = AfterPolicy::success}};
    children.push_back(child);
    if (!chance(0.3)) return children;
    NewJob second{.queue = draw_queue(), .payload = world_.nonce()};
    second.id = "c-" + second.payload;
    second.after = {{.queue = lease.queue, .id = child.id, .policy = AfterPolicy::end}};
    children.push_back(second);
    return children;
  }

  void ack(const Lease& lease) {
    const AckRequest request{
        .queue = lease.queue, .token = lease.token, .children = draw_children(lease)};
    std::string text = "ack " + lease.queue + "/" + lease.id;
    for (const NewJob& child : request.children) {
      world_.ledger().expect(child);
      text += " child " + child.payload + (child.batch.empty() ? "" : " in " + child.batch) +
              (child.unique ? " key " + child.unique->key : "");
    }
    world_.make({.text = text,
                 .process = process_,
                 .with_operation = chance(0.6),
                 .run = [request](Queues& queues,
                                  FlowCall& call) { return queues.ack(request, call.options()); },
                 .judge = [this, request,
                           id = lease.id](const FlowCall& call) { judge_ack(call, request, id); }});
  }

  // The first one's child waits for the second one, which finishes in the same transaction.
  void ack_both(const Lease& first, const Lease& second) {
    NewJob child{.queue = first.queue, .payload = world_.nonce()};
    child.id = "c-" + child.payload;
    child.after = {{.queue = second.queue, .id = second.id, .policy = AfterPolicy::end}};
    world_.ledger().expect(child);
    const std::vector<AckRequest> requests = {
        {.queue = first.queue, .token = first.token, .children = {child}},
        {.queue = second.queue, .token = second.token}};
    const std::vector<std::string> ids = {first.id, second.id};
    const auto statuses = std::make_shared<std::vector<Status>>();
    world_.make({.text = "ack " + first.id + " child " + child.id + " after " + second.id,
                 .process = process_,
                 .with_operation = chance(0.6),
                 .run =
                     [requests, statuses](Queues& queues, FlowCall& call) {
                       *statuses = queues.ack(requests, BatchOptions{.operation = call.operation});
                       const Status& one = (*statuses)[0];
                       const Status& two = (*statuses)[1];
                       call.answer =
                           std::string(code_name(one.code())) + " " + code_name(two.code());
                       return one.ok() || two.ok() ? Status() : one;
                     },
                 .judge =
                     [this, requests, ids, statuses](const FlowCall& call) {
                       for (std::size_t i = 0; i < requests.size(); ++i) {
                         FlowCall part = call;
                         part.status = (*statuses)[i];
                         judge_ack(part, requests[i], ids[i]);
                       }
                     }});
  }

  void judge_ack(const FlowCall& call, const AckRequest& request, const std::string& id) {
    Ledger& ledger = world_.ledger();
    const Life* life = ledger.find(request.queue, id);
    const Code code = call.status.code();
    if (code == Code::ok) {
      if (life == nullptr || !life->was_done) ledger.fail("ack: " + id + " is not done");
      for (const NewJob& child : request.children) {
        const bool kept = child.unique && child.unique->policy == UniquePolicy::keep;
        if (ledger.find_payload(child.payload) == nullptr && !kept)
          ledger.fail("ack: its child " + child.payload + " is not there");
      }
      return;
    }
    if (code == Code::lease_lost) return;
    const bool due = std::ranges::any_of(request.children, [&](const NewJob& child) {
      return world_.refusal_is_due(call, child, code);
    });
    if (!due) ledger.fail("ack: refused without a reason: " + call.status.to_string());
  }

  void fail(const Lease& lease) {
    const FailRequest request{
        .queue = lease.queue, .token = lease.token, .error = "no", .dead = chance(0.4)};
    world_.make({.text = "fail " + lease.queue + "/" + lease.id + (request.dead ? " dead" : ""),
                 .process = process_,
                 .with_operation = chance(0.6),
                 .run = [request](Queues& queues, FlowCall& call) {
                   return queues.fail(request, call.options());
                 }});
  }

  std::vector<Held> held_;
};

class FlowOperator final : public FlowActor {
 public:
  using FlowActor::FlowActor;

  void step() override {
    if (chance(0.3)) return sweep();
    if (chance(0.05)) return purge();
    if (chance(0.06)) return pause();
    touch();
  }

 private:
  void sweep() {
    const std::uint64_t moves = chance(0.3) ? 1 + below(3) : 10'000;
    world_.make(
        {.text = "sweep " + std::to_string(moves),
         .process = process_,
         .run = [moves](Queues& queues, FlowCall&) { return status_of(queues.sweep(moves)); }});
  }

  void pause() {
    const std::string queue = draw_queue();
    const bool pauses = !world_.paused(queue);
    world_.make({.text = (pauses ? "pause " : "resume ") + queue,
                 .process = process_,
                 .run = [queue, pauses](Queues& queues, FlowCall&) {
                   return pauses ? queues.pause(queue) : queues.resume(queue);
                 }});
  }

  void purge() {
    const std::string queue = draw_queue();
    const Lane lane = chance(0.5) ? Lane::dead : Lane::cancelled;
    world_.make({.text = "purge " + queue + " " + lane_name(lane),
                 .process = process_,
                 .run = [queue, lane](Queues& queues, FlowCall&) {
                   return status_of(queues.purge(queue, lane, 2));
                 }});
  }

  // What is right for its lane, or anything.
  void touch() {
    constexpr std::array kVerbs = {"cancel", "requeue", "remove", "hold", "unhold"};
    const auto& lives = world_.ledger().lives();
    if (lives.empty()) return;
    const Life& life = lives[lives.size() - 1 - below(std::min<std::size_t>(lives.size(), 40))];
    std::size_t verb = below(kVerbs.size());
    if (chance(0.8)) {
      if (life.finished()) verb = chance(0.6) ? 1 : 2;
      if (!life.finished()) verb = chance(0.5) ? 0 : 3;
      if (life.lane == Lane::held) verb = 4;
    }
    const JobRef ref{life.queue, life.id};
    if (verb == 0) world_.ledger().expect_cancel(ref.queue, ref.id);
    world_.make({.text = std::string(kVerbs[verb]) + " " + ref.queue + "/" + ref.id,
                 .process = process_,
                 .with_operation = chance(0.5),
                 .run =
                     [verb, ref](Queues& queues, FlowCall& call) {
                       const CallOptions options = call.options();
                       if (verb == 0) return queues.cancel(ref, options);
                       if (verb == 1)
                         return queues.requeue({.queue = ref.queue, .id = ref.id}, options);
                       if (verb == 2) return queues.remove(ref, options);
                       if (verb == 3) return queues.hold(ref, options);
                       return queues.unhold(ref, options);
                     },
                 .judge = [this, verb, ref](const FlowCall& call) { judge(call, verb, ref); }});
  }

  void judge(const FlowCall& call, std::size_t verb, const JobRef& ref) {
    Ledger& ledger = world_.ledger();
    const Life* life = ledger.find(ref.queue, ref.id);
    const Code code = call.status.code();
    if (verb == 0 && code == Code::ok && life->lane != Lane::cancelled && !call.intruded &&
        call.tries == 1)
      ledger.fail("cancel: " + ref.id + " is not cancelled");
    if (code != Code::already_exists) return;
    const NewJob* asked = life->asked;
    if (verb != 1 || asked == nullptr || !asked->unique ||
        ledger.key_holder_since(ref.queue, asked->unique->key, call.begun_tick, call.begun) ==
            nullptr)
      return ledger.fail("requeue: refused without a reason: " + call.status.to_string());
    world_.tally().hit(FlowProbe::unique_requeue_refused);
  }
};

}  // namespace

std::unique_ptr<FlowActor> make_flow_worker(FlowWorld& world, std::size_t process) {
  return std::make_unique<FlowWorker>(world, process);
}

std::unique_ptr<FlowActor> make_flow_operator(FlowWorld& world, std::size_t process) {
  return std::make_unique<FlowOperator>(world, process);
}

}  // namespace sluice::queue::sim
