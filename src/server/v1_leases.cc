// SPDX-License-Identifier: MIT
// Claims, and what workers say about them.
#include <span>

#include "server/answer.h"
#include "server/v1.h"
#include "server/v1_json.h"

namespace sluice::server {
namespace {

constexpr std::int64_t kWaitMsMax = 5 * 60 * 1000;
constexpr std::int64_t kLeaseMsMax =
    std::chrono::duration_cast<std::chrono::milliseconds>(queue::kLeaseMax).count();
constexpr std::size_t kSkipGroupsMax = 1'000;

net::HttpResponse leases_answer(const std::vector<queue::Lease>& leases) {
  Writer writer;
  writer.object().name("leases").array();
  for (const queue::Lease& lease : leases) put(writer, lease);
  return json_answer(writer.end_array().end_object().take());
}

Result<queue::ClaimRequest> parse_claim(const Fields& fields) {
  queue::ClaimRequest request;
  SLUICE_LET(queues, fields.names("queues"));
  SLUICE_LET(jobs, fields.optional_integer("max", 1, queue::kClaimJobsMax));
  SLUICE_LET(lease, fields.optional_integer("lease_ms", 1, kLeaseMsMax));
  SLUICE_LET(worker, fields.optional_name("worker"));
  SLUICE_LET(skip, fields.names("skip_groups"));
  SLUICE_LET(wait, fields.optional_integer("wait_ms", 0, kWaitMsMax));
  if (queues.empty() || queues.size() > queue::kClaimQueuesMax)
    return error(Code::invalid_argument, "queues must have 1 to 64 members");
  if (skip.size() > kSkipGroupsMax)
    return error(Code::invalid_argument, "skip_groups must have 0 to 1000 members");
  request.queues = std::move(queues);
  request.jobs_max = static_cast<std::size_t>(jobs.value_or(1));
  if (lease) request.lease = std::chrono::milliseconds(*lease);
  request.worker = worker.value_or("");
  request.skip_groups = std::move(skip);
  request.wait = std::chrono::milliseconds(wait.value_or(0));
  return request;
}

struct Held {
  std::string queue = {};
  queue::Token token = {};
};

Result<Held> parse_held(const Fields& fields) {
  SLUICE_LET(queue, fields.name("queue"));
  SLUICE_LET(text, fields.text("token"));
  auto token = queue::Token::parse(text);
  if (!token) return error(Code::invalid_argument, "token is none that a claim has answered");
  return Held{.queue = std::move(queue), .token = *token};
}

Result<queue::AckRequest> parse_ack(const Fields& fields) {
  SLUICE_LET(held, parse_held(fields));
  SLUICE_LET(result, fields.optional_text("result"));
  queue::AckRequest request{
      .queue = std::move(held.queue), .token = held.token, .result = result.value_or("")};
  if (!fields.names_it("children")) return request;
  SLUICE_LET(children, fields.objects("children"));
  for (const Fields& child : children) {
    SLUICE_LET(queue, child.optional_name("queue"));
    SLUICE_LET(job, parse_new_job(child, queue.value_or(request.queue)));
    request.children.push_back(std::move(job));
  }
  return request;
}

Result<queue::FailRequest> parse_fail(const Fields& fields) {
  SLUICE_LET(held, parse_held(fields));
  SLUICE_LET(why, fields.optional_text("error"));
  SLUICE_LET(delay, optional_ms(fields, "delay_ms"));
  SLUICE_LET(dead, fields.boolean_or("dead", false));
  return queue::FailRequest{.queue = std::move(held.queue),
                            .token = held.token,
                            .error = why.value_or(""),
                            .delay = delay,
                            .dead = dead};
}

Result<queue::ReleaseRequest> parse_release(const Fields& fields) {
  SLUICE_LET(held, parse_held(fields));
  SLUICE_LET(delay, optional_ms(fields, "delay_ms"));
  return queue::ReleaseRequest{
      .queue = std::move(held.queue), .token = held.token, .delay = delay.value_or(Duration{})};
}

Result<queue::ExtendRequest> parse_extend(const Fields& fields) {
  SLUICE_LET(held, parse_held(fields));
  SLUICE_LET(lease, optional_ms(fields, "lease_ms"));
  SLUICE_LET(progress, fields.optional_text("progress"));
  return queue::ExtendRequest{.queue = std::move(held.queue),
                              .token = held.token,
                              .lease = lease,
                              .progress = std::move(progress)};
}

// What each verb answers for one item.
Status settle_one(queue::Scope& scope, const queue::AckRequest& request,
                  const queue::CallOptions& options, Writer& writer) {
  SLUICE_TRY(scope.ack(request, options));
  writer.object().end_object();
  return {};
}
Status settle_one(queue::Scope& scope, const queue::FailRequest& request,
                  const queue::CallOptions& options, Writer& writer) {
  SLUICE_TRY(scope.fail(request, options));
  writer.object().end_object();
  return {};
}
Status settle_one(queue::Scope& scope, const queue::ReleaseRequest& request,
                  const queue::CallOptions& options, Writer& writer) {
  SLUICE_TRY(scope.release(request, options));
  writer.object().end_object();
  return {};
}
Status settle_one(queue::Scope& scope, const queue::ExtendRequest& request,
                  const queue::CallOptions& options, Writer& writer) {
  SLUICE_LET(deadline, scope.extend(request, options));
  writer.object().name("deadline_at").number(to_ms(deadline)).end_object();
  return {};
}

/// The jobs that come with an ack.
std::span<const queue::NewJob> children_of(const queue::AckRequest& request) {
  return request.children;
}
template <class Request>
std::span<const queue::NewJob> children_of(const Request& /*request*/) {
  return {};
}

template <class Request>
Status check_queues(const Call& call, const std::vector<Request>& requests) {
  for (const Request& one : requests) {
    SLUICE_TRY(call.check(May::work, one.queue));
    for (const queue::NewJob& child : children_of(one)) SLUICE_TRY(check_job(call, child));
  }
  return {};
}

/// Whether the item alone was refused: the others of its batch go on.
bool is_refusal(Code code) {
  return code == Code::lease_lost || code == Code::not_found || code == Code::already_exists ||
         code == Code::conflict || code == Code::limit_exceeded || code == Code::invalid_argument;
}

}  // namespace

void V1::add_leases(Routes& routes) {
  const Need need{May::work, Need::On::body};
  routes.add("POST", "/v1/claim", need, [this](Call call) { claim(std::move(call)); });
  routes.add("POST", "/v1/ack", need, [this](Call call) { settle(std::move(call), parse_ack); });
  routes.add("POST", "/v1/fail", need, [this](Call call) { settle(std::move(call), parse_fail); });
  routes.add("POST", "/v1/release", need,
             [this](Call call) { settle(std::move(call), parse_release); });
  routes.add("POST", "/v1/extend", need,
             [this](Call call) { settle(std::move(call), parse_extend); });
}

void V1::claim(Call call) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const auto fields = Fields::of(*body);
  if (!fields) return refuse_v1(call, fields.error());
  auto request = parse_claim(*fields);
  if (!request) return refuse_v1(call, request.error());
  for (const std::string& queue : request->queues)
    if (const Status allowed = call.check(May::work, queue); !allowed.ok())
      return refuse_v1(call, allowed);
  request->operation = operation_of(call);
  if (request->wait == Duration{}) {
    if (!request->operation.empty()) long_polls_.give_up(request->operation);
    const auto claim = std::make_shared<const queue::ClaimRequest>(std::move(*request));
    return work_.write(std::move(call), kv::WriteClass::drain,
                       [this, claim](kv::Transaction& txn, net::HttpResponse& answer) -> Status {
                         queue::Scope scope(queues_, txn);
                         SLUICE_LET(claimed, scope.claim(*claim));
                         answer = leases_answer(claimed.leases);
                         if (claimed.leases.empty() && claimed.moved) answer.status = Work::kAgain;
                         return {};
                       });
  }
  const auto held = std::make_shared<Call>(std::move(call));
  LongPolls::Waiter waiter{
      .request = std::move(*request),
      .is_gone = [held] { return held->exchange.is_gone(); },
      .done =
          [this, held](Result<std::vector<queue::Lease>> leases) {
            if (!leases) return refuse_v1(*held, leases.error());
            const bool revoked = held->grant && !access_.is_good(*held->grant);
            // Nobody would work on them until their leases lapse.
            if (revoked || held->exchange.is_gone())
              for (const queue::Lease& lease : *leases)
                if (queues_.release({.queue = lease.queue, .token = lease.token}).ok()) continue;
            held->exchange.reply(revoked ? no_token_answer(held->request().head.target)
                                         : leases_answer(*leases));
          }};
  if (!long_polls_.add(waiter))
    refuse_v1(*held, {Code::unavailable,
                      "too many different sets of queues are waited for: try again, or without "
                      "wait_ms"});
}

template <class Request>
void V1::settle(Call call, Result<Request> (*parse)(const Fields& fields)) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const bool many = body->find("items") != nullptr;
  const auto read = [&]() -> Result<std::vector<Request>> {
    SLUICE_LET(fields, Fields::of(*body));
    std::vector<Fields> items{fields};
    if (many) {
      SLUICE_LET(objects, fields.objects("items"));
      items = std::move(objects);
    }
    if (items.empty() || items.size() > queue::kBatchJobsMax)
      return error(Code::invalid_argument, "items must have 1 to 1000 members");
    std::vector<Request> requests;
    for (const Fields& item : items) {
      SLUICE_LET(request, parse(item));
      requests.push_back(std::move(request));
    }
    return requests;
  };
  auto requests = read();
  if (!requests) return refuse_v1(call, requests.error());
  if (const Status allowed = check_queues(call, *requests); !allowed.ok())
    return refuse_v1(call, allowed);
  std::size_t children = 0;
  for (const Request& one : *requests) children += children_of(one).size();
  const auto body_of_all =
      settling(std::make_shared<const std::vector<Request>>(*requests), many, operation_of(call));
  if (children == 0) return work_.write(std::move(call), kv::WriteClass::drain, body_of_all);
  work_.with_room(std::move(call), children, [this, body_of_all](Call held) {
    work_.write(std::move(held), kv::WriteClass::grow, body_of_all);
  });
}

/// The key names the call; in a batch each item is a call of its own.
template <class Request>
Work::Body V1::settling(std::shared_ptr<const std::vector<Request>> all, bool many,
                        const std::string& operation) {
  return [this, all = std::move(all), many, operation](kv::Transaction& txn,
                                                       Work::Answer& answer) -> Status {
    queue::Scope scope(queues_, txn);
    Writer writer;
    std::size_t jobs = 0;
    if (many) writer.object().name("results").array();
    for (std::size_t i = 0; i < all->size(); ++i) {
      queue::CallOptions options{.operation = operation};
      if (many && !operation.empty()) options.operation += "/" + std::to_string(i);
      const Status status = settle_one(scope, (*all)[i], options, writer);
      if (status.ok()) {
        jobs += children_of((*all)[i]).size();
        continue;
      }
      if (!many || !is_refusal(status.code())) return status;
      put_failure(writer, status);
    }
    if (many) writer.end_array().end_object();
    answer = json_answer(writer.take());
    answer.jobs = jobs;
    return {};
  };
}

}  // namespace sluice::server
