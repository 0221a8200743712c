// SPDX-License-Identifier: MIT
#include "tests/queue/sim/call.h"

#include <array>

namespace sluice::queue::sim {
namespace {

constexpr std::array<const char*, 19> kVerbNames = {
    "enqueue",   "claim",       "extend", "ack",    "fail",  "release", "cancel",
    "requeue",   "edit",        "hold",   "unhold", "break", "remove",  "purge",
    "configure", "limit_group", "pause",  "resume", "sweep"};

AckRequest ack_of(const Item& item) {
  return {.queue = item.queue, .token = item.token, .result = item.text, .children = item.children};
}

FailRequest fail_of(const Item& item) {
  return {.queue = item.queue,
          .token = item.token,
          .error = item.text,
          .delay = item.span,
          .dead = item.flag};
}

ReleaseRequest release_of(const Item& item) {
  return {.queue = item.queue, .token = item.token, .delay = item.span.value_or(Duration{})};
}

JobRef ref_of(const Item& item) {
  return {.queue = item.queue, .id = item.id};
}

RequeueRequest requeue_of(const Item& item) {
  return {.queue = item.queue, .id = item.id, .keep_attempts = item.flag};
}

template <class Of>
auto requests_of(const Call& call, Of of) {
  std::vector<decltype(of(call.items.front()))> requests;
  for (const Item& item : call.items) requests.push_back(of(item));
  return requests;
}

void take(Call& call, const std::vector<Status>& statuses) {
  if (statuses.size() != call.items.size()) {
    call.status = Status(Code::corrupt, "a batch answered with another number of results");
    return;
  }
  for (std::size_t i = 0; i < statuses.size(); ++i) call.items[i].status = statuses[i];
}

void take(Call& call, const std::vector<Result<std::string>>& ids) {
  std::vector<Status> statuses;
  for (const auto& id : ids) statuses.push_back(status_of(id));
  take(call, statuses);
  for (std::size_t i = 0; i < ids.size() && i < call.items.size(); ++i)
    call.items[i].new_id = ids[i] ? *ids[i] : std::string();
}

std::vector<NewJob> jobs_of(const Call& call) {
  return requests_of(call, [](const Item& item) { return item.job; });
}

void execute_batch(Queues& queues, Call& call) {
  const BatchOptions options{.operation = call.operation, .all_or_none = call.all_or_none};
  switch (call.verb) {
    case Verb::enqueue:
      return take(call, queues.enqueue(jobs_of(call), options));
    case Verb::ack:
      return take(call, queues.ack(requests_of(call, ack_of), options));
    case Verb::fail:
      return take(call, queues.fail(requests_of(call, fail_of), options));
    case Verb::release:
      return take(call, queues.release(requests_of(call, release_of), options));
    case Verb::cancel:
      return take(call, queues.cancel(requests_of(call, ref_of), options));
    case Verb::requeue:
      return take(call, queues.requeue(requests_of(call, requeue_of), options));
    default:
      return take(call, queues.remove(requests_of(call, ref_of), options));
  }
}

void execute_extend(Queues& queues, Item& item, const CallOptions& options) {
  const auto deadline = queues.extend(
      {.queue = item.queue, .token = item.token, .lease = item.span, .progress = item.text},
      options);
  item.status = status_of(deadline);
  if (deadline) item.deadline = *deadline;
}

void execute_single(Queues& queues, Call& call) {
  const CallOptions options{.operation = call.operation};
  Item& item = call.items.front();
  switch (call.verb) {
    case Verb::enqueue: {
      const auto id = queues.enqueue(item.job, options);
      item.status = status_of(id);
      item.new_id = id ? *id : std::string();
      return;
    }
    case Verb::extend:
      return execute_extend(queues, item, options);
    case Verb::ack:
      item.status = queues.ack(ack_of(item), options);
      return;
    case Verb::fail:
      item.status = queues.fail(fail_of(item), options);
      return;
    case Verb::release:
      item.status = queues.release(release_of(item), options);
      return;
    case Verb::cancel:
      item.status = queues.cancel(ref_of(item), options);
      return;
    case Verb::requeue:
      item.status = queues.requeue(requeue_of(item), options);
      return;
    case Verb::edit:
      item.status = queues.edit(item.edit, options);
      return;
    case Verb::hold:
      item.status = queues.hold(ref_of(item), options);
      return;
    case Verb::unhold:
      item.status = queues.unhold(ref_of(item), options);
      return;
    case Verb::break_lease:
      item.status = queues.break_lease(ref_of(item), options);
      return;
    default:
      item.status = queues.remove(ref_of(item), options);
      return;
  }
}

void execute_whole(Queues& queues, Call& call) {
  switch (call.verb) {
    case Verb::claim: {
      ClaimRequest request = call.claim;
      request.operation = call.operation;
      auto leases = queues.claim(request);
      call.status = status_of(leases);
      call.leases = leases ? *std::move(leases) : std::vector<Lease>();
      return;
    }
    case Verb::configure:
      call.status = queues.configure(call.queue, call.config);
      return;
    case Verb::limit_group:
      call.status = queues.limit_group(call.queue, call.group, call.limit);
      return;
    case Verb::pause:
      call.status = queues.pause(call.queue);
      return;
    case Verb::resume:
      call.status = queues.resume(call.queue);
      return;
    case Verb::purge:
      call.status = status_of(queues.purge(call.queue, call.lane, call.count_max));
      return;
    default: {
      const auto swept = queues.sweep(call.count_max);
      call.status = status_of(swept);
      call.swept = swept ? *swept : Swept();
      return;
    }
  }
}

bool is_store_failure(Code code) {
  return code == Code::commit_unknown || code == Code::io_error || code == Code::unavailable;
}

// A store failure of any item is one of the call: a batch of this size is one transaction.
void lift_store_failure(Call& call) {
  for (const Item& item : call.items)
    if (is_store_failure(item.status.code())) call.status = item.status;
}

}  // namespace

const char* verb_name(Verb verb) {
  return kVerbNames[static_cast<std::size_t>(verb)];
}

bool Call::doubtful() const {
  return is_store_failure(status.code());
}

std::string Call::to_string() const {
  std::string line =
      "call " + std::to_string(number) + " p" + std::to_string(process) + " " + verb_name(verb);
  if (tries > 1) line += " try " + std::to_string(tries);
  if (!operation.empty()) line += " op " + operation;
  if (intruded) line += " (intruded)";
  if (!queue.empty()) line += " " + queue + "/" + group;
  if (verb == Verb::limit_group) line += limit ? " = " + std::to_string(*limit) : " = none";
  if (verb == Verb::claim) {
    for (const std::string& name : claim.queues) line += " " + name;
    line += " x" + std::to_string(claim.jobs_max);
    for (const Lease& lease : leases)
      line += " [" + lease.queue + " " + lease.id + " #" + std::to_string(lease.token.claim) +
              " until " + std::to_string(lease.deadline.time_since_epoch().count() / 1'000'000) +
              "]";
  }
  for (const Item& item : items) {
    const bool enqueues = verb == Verb::enqueue;
    line += " [" + (enqueues ? item.job.queue : item.queue) + " ";
    line += enqueues ? nonce_in(item.job.payload) + " " + item.new_id : item.id;
    if (item.token.claim != 0)
      line += item.token.to_string().substr(12, 12) + " #" + std::to_string(item.token.claim);
    line += std::string(" ") + code_name(item.status.code()) + "]";
  }
  if (verb == Verb::sweep) line += " moved " + std::to_string(swept.moved());
  return line + " -> " + code_name(status.code());
}

std::string nonce_of(const Call& call, std::size_t item) {
  return "n" + std::to_string(call.number) + "." + std::to_string(item);
}

std::string nonce_in(const std::string& payload) {
  return payload.substr(0, payload.find(' '));
}

void execute(Queues& queues, Call& call) {
  call.status = {};
  call.leases.clear();
  for (Item& item : call.items) item.status = {};
  if (call.items.empty()) return execute_whole(queues, call);
  if (call.batch)
    execute_batch(queues, call);
  else
    execute_single(queues, call);
  lift_store_failure(call);
}

void execute_in(Scope& scope, Call& call) {
  const CallOptions options{.operation = call.operation};
  call.status = {};
  switch (call.verb) {
    case Verb::enqueue:
      return take(call, scope.enqueue(jobs_of(call), options));
    case Verb::ack:
      return take(call, scope.ack(requests_of(call, ack_of), options));
    case Verb::fail:
      return take(call, scope.fail(requests_of(call, fail_of), options));
    default:
      return take(call, scope.release(requests_of(call, release_of), options));
  }
}

}  // namespace sluice::queue::sim
