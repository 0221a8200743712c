// SPDX-License-Identifier: MIT
// Jobs: enqueue, look, change.
#include <algorithm>

#include "server/answer.h"
#include "server/v1.h"
#include "server/v1_json.h"

namespace sluice::server {
namespace {

queue::JobRef job_of(const Call& call) {
  return {call.parts[0], call.parts[1]};
}

/// One of the results of a batch.
void put_result(Writer& writer, const Result<std::string>& id) {
  if (!id) return put_failure(writer, id.error());
  writer.object().name("id").string(*id).end_object();
}

Result<std::vector<queue::NewJob>> parse_jobs(const Fields& fields, const std::string& queue) {
  SLUICE_LET(items, fields.objects("jobs"));
  if (items.empty() || items.size() > kRequestJobsMax)
    return error(Code::invalid_argument, "jobs must have 1 to 10000 members");
  std::vector<queue::NewJob> jobs;
  jobs.reserve(items.size());
  for (const Fields& item : items) {
    SLUICE_LET(job, parse_new_job(item, queue));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

net::HttpResponse results_answer(const std::vector<Result<std::string>>& ids) {
  Writer writer;
  writer.object().name("results").array();
  for (const auto& id : ids) put_result(writer, id);
  return json_answer(writer.end_array().end_object().take());
}

}  // namespace

void V1::add_jobs(Routes& routes) {
  using On = Need::On;
  const auto add = [&](std::string_view method, std::string_view path, May may,
                       void (V1::*handler)(Call)) {
    routes.add(method, path, Need{may, On::part},
               [this, handler](Call call) { (this->*handler)(std::move(call)); });
  };
  const auto add_verb = [&](std::string_view method, std::string_view path, May may, JobVerb verb) {
    routes.add(method, path, Need{may, On::part},
               [this, verb](Call call) { change(std::move(call), verb); });
  };
  add("POST", "/v1/queues/:queue/jobs", May::enqueue, &V1::enqueue);
  add("GET", "/v1/queues/:queue/jobs", May::read, &V1::list_jobs);
  add("GET", "/v1/queues/:queue/jobs/:id", May::read, &V1::get_job);
  add("PATCH", "/v1/queues/:queue/jobs/:id", May::enqueue, &V1::edit);
  add_verb("DELETE", "/v1/queues/:queue/jobs/:id", May::enqueue, &queue::Queues::remove);
  add("GET", "/v1/queues/:queue/jobs/:id/explain", May::read, &V1::explain);
  add_verb("POST", "/v1/queues/:queue/jobs/:id/cancel", May::enqueue, &queue::Queues::cancel);
  add_verb("POST", "/v1/queues/:queue/jobs/:id/hold", May::enqueue, &queue::Queues::hold);
  add_verb("POST", "/v1/queues/:queue/jobs/:id/unhold", May::enqueue, &queue::Queues::unhold);
  add_verb("POST", "/v1/queues/:queue/jobs/:id/break-lease", May::admin,
           &queue::Queues::break_lease);
  add("POST", "/v1/queues/:queue/jobs/:id/requeue", May::enqueue, &V1::requeue);
}

void V1::enqueue(Call call) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const auto fields = Fields::of(*body);
  if (!fields) return refuse_v1(call, fields.error());
  if (fields->names_it("jobs")) return enqueue_many(std::move(call), *fields);
  auto parsed = parse_new_job(*fields, call.parts[0]);
  if (!parsed) return refuse_v1(call, parsed.error());
  if (const Status allowed = check_job(call, *parsed); !allowed.ok())
    return refuse_v1(call, allowed);
  const auto job = std::make_shared<const queue::NewJob>(std::move(*parsed));
  const std::string operation = operation_of(call);
  work_.with_room(std::move(call), 1, [this, job, operation](Call held) {
    work_.write(std::move(held), kv::WriteClass::grow,
                [this, job, operation](kv::Transaction& txn, Work::Answer& answer) -> Status {
                  queue::Scope scope(queues_, txn);
                  SLUICE_LET(id, scope.enqueue(*job, {.operation = operation}));
                  answer = json_answer(Writer().object().name("id").string(id).end_object().take());
                  answer.status = 201;
                  answer.jobs = 1;
                  return {};
                });
  });
}

void V1::enqueue_many(Call call, const Fields& fields) {
  auto parsed = parse_jobs(fields, call.parts[0]);
  if (!parsed) return refuse_v1(call, parsed.error());
  for (const queue::NewJob& job : *parsed)
    if (const Status allowed = check_job(call, job); !allowed.ok()) return refuse_v1(call, allowed);
  const auto jobs = std::make_shared<const std::vector<queue::NewJob>>(std::move(*parsed));
  const std::string operation = operation_of(call);
  work_.with_room(std::move(call), jobs->size(), [this, jobs, operation](Call held) {
    work_.run(std::move(held), [this, jobs, operation](Call admitted) {
      const auto ids = queues_.enqueue(*jobs, queue::BatchOptions{.operation = operation});
      admitted.room.use(static_cast<std::size_t>(
          std::ranges::count_if(ids, [](const auto& id) { return id.has_value(); })));
      admitted.exchange.reply(results_answer(ids));
    });
  });
}

void V1::get_job(Call call) {
  const auto job = queues_.get(job_of(call), {.payload = true, .history = true, .after = true});
  if (!job) return refuse_v1(call, job.error());
  Writer writer;
  put(writer, *job);
  call.exchange.reply(json_answer(writer.take()));
}

void V1::list_jobs(Call call) {
  const auto limit = limit_of(call);
  if (!limit) return refuse_v1(call, limit.error());
  queue::ListRequest request{.queue = call.parts[0],
                             .group = query_text(call, "group"),
                             .after = query_text(call, "after"),
                             .limit = *limit};
  if (const std::string lane = query_text(call, "lane"); !lane.empty()) {
    request.lane = queue::lane_from_name(lane);
    if (!request.lane)
      return refuse_v1(call, {Code::invalid_argument,
                              "lane must be waiting, held, scheduled, ready, leased, done, dead or "
                              "cancelled"});
  }
  work_.look_up(std::move(call), [this, request]() -> Result<net::HttpResponse> {
    SLUICE_LET(page, queues_.list(request));
    Writer writer;
    writer.object().name("jobs").array();
    for (const queue::Job& job : page.jobs) put(writer, job);
    writer.end_array();
    if (!page.next.empty()) writer.name("next").string(page.next);
    return json_answer(writer.end_object().take());
  });
}

void V1::explain(Call call) {
  const auto why = queues_.explain(job_of(call));
  if (!why) return refuse_v1(call, why.error());
  Writer writer;
  writer.object().name("job");
  put(writer, why->job);
  writer.name("reasons").array();
  for (const std::string& reason : why->reasons) writer.string(reason);
  call.exchange.reply(json_answer(writer.end_array().end_object().take()));
}

void V1::edit(Call call) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const auto parse = [&]() -> Result<queue::EditRequest> {
    SLUICE_LET(fields, Fields::of(*body));
    queue::EditRequest request{.queue = call.parts[0], .id = call.parts[1]};
    SLUICE_LET(priority, fields.optional_integer("priority", INT32_MIN, INT32_MAX));
    SLUICE_LET(due, fields.optional_integer("due_at", 0, INT64_MAX / 1'000'000));
    if (priority) request.priority = static_cast<std::int32_t>(*priority);
    if (due) request.due = WallTime(std::chrono::milliseconds(*due));
    if (fields.has("payload") || fields.has("payload_base64")) {
      SLUICE_LET(payload, parse_payload(fields));
      request.payload = std::move(payload);
    }
    return request;
  };
  auto request = parse();
  if (!request) return refuse_v1(call, request.error());
  const std::string operation = operation_of(call);
  work_.write(std::move(call), kv::WriteClass::grow,
              [this, request = *request, operation](kv::Transaction& txn,
                                                    net::HttpResponse& answer) -> Status {
                queue::Scope scope(queues_, txn);
                SLUICE_TRY(scope.edit(request, {.operation = operation}));
                answer = json_answer("{}");
                return {};
              });
}

void V1::change(Call call, JobVerb verb) {
  const queue::JobRef job = job_of(call);
  const std::string operation = operation_of(call);
  work_.look_up(std::move(call), [this, verb, job, operation]() -> Result<net::HttpResponse> {
    SLUICE_TRY((queues_.*verb)(job, {.operation = operation}));
    return json_answer("{}");
  });
}

void V1::requeue(Call call) {
  queue::RequeueRequest request{.queue = call.parts[0], .id = call.parts[1]};
  if (!call.request().body.empty()) {
    const auto body = read_v1_body(call);
    if (!body) return;
    const auto fields = Fields::of(*body);
    if (!fields) return refuse_v1(call, fields.error());
    const auto keep = fields->boolean_or("keep_attempts", false);
    if (!keep) return refuse_v1(call, keep.error());
    request.keep_attempts = *keep;
  }
  const std::string operation = operation_of(call);
  work_.look_up(std::move(call), [this, request, operation]() -> Result<net::HttpResponse> {
    SLUICE_TRY(queues_.requeue(request, {.operation = operation}));
    return json_answer("{}");
  });
}

}  // namespace sluice::server
