// SPDX-License-Identifier: MIT
// Schedules, batches, events.
#include "server/answer.h"
#include "server/v1.h"
#include "server/v1_json.h"

namespace sluice::server {
namespace {

void put_when(Writer& writer, std::string_view name, const std::optional<WallTime>& time) {
  if (time) writer.name(name).number(to_ms(*time));
}

void put_flow(Writer& writer, const queue::Schedule& one) {
  writer.object().name("queue").string(one.queue).name("name").string(one.name);
  writer.name("cron").string(one.cron).name("paused").boolean(one.paused).name("job");
  server::put(writer, one.job);
  writer.name("created_at").number(to_ms(one.created));
  put_when(writer, "next_at", one.next);
  put_when(writer, "planned_at", one.planned);
  if (!one.last_id.empty()) writer.name("last_id").string(one.last_id);
  writer.name("fired").number(one.fired).name("skipped").number(one.skipped);
  if (!one.error.empty()) writer.name("error").string(one.error);
  writer.end_object();
}

void put_flow(Writer& writer, const queue::Batch& one) {
  writer.object().name("queue").string(one.queue).name("id").string(one.id);
  writer.name("created_at").number(to_ms(one.created));
  writer.name("sealed").boolean(one.sealed).name("cancelled").boolean(one.cancelled);
  put_when(writer, "ended_at", one.ended);
  writer.name("succeeded").boolean(one.succeeded());
  writer.name("total").number(one.total).name("pending").number(one.pending());
  writer.name("done").number(one.done).name("dead").number(one.dead);
  writer.name("dropped").number(one.dropped);
  if (!one.success_id.empty()) writer.name("success_id").string(one.success_id);
  if (!one.end_id.empty()) writer.name("end_id").string(one.end_id);
  if (!one.error.empty()) writer.name("error").string(one.error);
  writer.end_object();
}

template <class Item>
net::HttpResponse item_answer(const Item& item) {
  Writer writer;
  put_flow(writer, item);
  return json_answer(writer.take());
}

/// `next` names the page that follows, if this one is full.
template <class Item>
net::HttpResponse page_answer(std::string_view name, const std::vector<Item>& items,
                              std::size_t limit, const std::string& next) {
  Writer writer;
  writer.object().name(name).array();
  for (const Item& item : items) put_flow(writer, item);
  writer.end_array();
  if (items.size() == limit) writer.name("next").string(next);
  return json_answer(writer.end_object().take());
}

bool accepts_stream(std::string_view accepted) {
  constexpr std::string_view kType = "text/event-stream";
  for (; accepted.size() >= kType.size(); accepted.remove_prefix(1))
    if (net::equal_ignoring_case(accepted.substr(0, kType.size()), kType)) return true;
  return false;
}

Result<queue::NewSchedule> parse_schedule(const Call& call, const Fields& fields) {
  queue::NewSchedule schedule{.queue = call.parts[0], .name = call.parts[1], .cron = {}, .job = {}};
  SLUICE_LET(cron, fields.text("cron"));
  schedule.cron = std::move(cron);
  if (!fields.has("job")) return schedule;
  SLUICE_LET(members, fields.object("job"));
  SLUICE_LET(queue, members.optional_name("queue"));  // Of its own it has none.
  SLUICE_LET(job, parse_new_job(members, queue.value_or("")));
  schedule.job = std::move(job);
  return schedule;
}

/// A callback may be of any queue; the batch's own if it names none.
Result<std::optional<queue::NewJob>> parse_callback(const Call& call, const Fields& fields,
                                                    std::string_view member) {
  if (!fields.has(member)) return std::optional<queue::NewJob>();
  SLUICE_LET(members, fields.object(member));
  SLUICE_LET(queue, members.optional_name("queue"));
  SLUICE_LET(job, parse_new_job(members, queue.value_or(call.parts[0])));
  SLUICE_TRY(check_job(call, job));
  return std::optional(std::move(job));
}

Result<queue::NewBatch> parse_batch(const Call& call, const Fields& fields) {
  SLUICE_LET(id, fields.optional_name("id"));
  SLUICE_LET(on_success, parse_callback(call, fields, "on_success"));
  SLUICE_LET(on_end, parse_callback(call, fields, "on_end"));
  return queue::NewBatch{.queue = call.parts[0],
                         .id = id.value_or(""),
                         .on_success = std::move(on_success),
                         .on_end = std::move(on_end)};
}

}  // namespace

void V1::add_flows(Routes& routes) {
  using On = Need::On;
  const auto add = [&](std::string_view method, std::string_view path, May may,
                       void (V1::*handler)(Call)) {
    routes.add(method, path, Need{may, On::part},
               [this, handler](Call call) { (this->*handler)(std::move(call)); });
  };
  const auto add_verb = [&](std::string_view verb, ScheduleVerb function) {
    routes.add("POST", "/v1/queues/:queue/schedules/:name/" + std::string(verb),
               Need{May::admin, On::part},
               [this, function](Call call) { change_schedule(std::move(call), function); });
  };
  add("GET", "/v1/queues/:queue/schedules", May::read, &V1::list_schedules);
  add("GET", "/v1/queues/:queue/schedules/:name", May::read, &V1::get_schedule);
  add("PUT", "/v1/queues/:queue/schedules/:name", May::admin, &V1::put_schedule);
  routes.add(
      "DELETE", "/v1/queues/:queue/schedules/:name", Need{May::admin, On::part},
      [this](Call call) { change_schedule(std::move(call), &queue::Queues::remove_schedule); });
  add_verb("pause", &queue::Queues::pause_schedule);
  add_verb("resume", &queue::Queues::resume_schedule);
  add("POST", "/v1/queues/:queue/schedules/:name/run", May::admin, &V1::run_schedule);
  add("GET", "/v1/queues/:queue/batches", May::read, &V1::list_batches);
  add("POST", "/v1/queues/:queue/batches", May::enqueue, &V1::open_batch);
  add("GET", "/v1/queues/:queue/batches/:id", May::read, &V1::get_batch);
  routes.add("POST", "/v1/queues/:queue/batches/:id/seal", Need{May::enqueue, On::part},
             [this](Call call) { change_batch(std::move(call), &queue::Queues::seal_batch); });
  routes.add("POST", "/v1/queues/:queue/batches/:id/cancel", Need{May::enqueue, On::part},
             [this](Call call) { change_batch(std::move(call), &queue::Queues::cancel_batch); });
  add("GET", "/v1/queues/:queue/events", May::read, &V1::events);
}

void V1::list_schedules(Call call) {
  const auto limit = limit_of(call);
  if (!limit) return refuse_v1(call, limit.error());
  const std::string queue = call.parts[0];
  const std::string after = query_text(call, "after");
  work_.look_up(std::move(call), [=, this, limit = *limit]() -> Result<net::HttpResponse> {
    SLUICE_LET(all, queues_.list_schedules(queue, after, limit));
    return page_answer("schedules", all, limit, all.empty() ? "" : all.back().name);
  });
}

void V1::get_schedule(Call call) {
  const std::string queue = call.parts[0];
  const std::string name = call.parts[1];
  work_.look_up(std::move(call), [=, this]() -> Result<net::HttpResponse> {
    SLUICE_LET(schedule, queues_.get_schedule(queue, name));
    return item_answer(schedule);
  });
}

void V1::put_schedule(Call call) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const auto fields = Fields::of(*body);
  if (!fields) return refuse_v1(call, fields.error());
  auto parsed = parse_schedule(call, *fields);
  if (!parsed) return refuse_v1(call, parsed.error());
  const auto schedule = std::make_shared<const queue::NewSchedule>(std::move(*parsed));
  work_.look_up(std::move(call), [this, schedule]() -> Result<net::HttpResponse> {
    SLUICE_TRY(queues_.put_schedule(*schedule));
    SLUICE_LET(stored, queues_.get_schedule(schedule->queue, schedule->name));
    return item_answer(stored);
  });
}

void V1::change_schedule(Call call, ScheduleVerb verb) {
  const std::string queue = call.parts[0];
  const std::string name = call.parts[1];
  work_.look_up(std::move(call), [=, this]() -> Result<net::HttpResponse> {
    SLUICE_TRY((queues_.*verb)(queue, name));
    return json_answer("{}");
  });
}

void V1::run_schedule(Call call) {
  const std::string queue = call.parts[0];
  const std::string name = call.parts[1];
  work_.look_up(std::move(call), [=, this]() -> Result<net::HttpResponse> {
    SLUICE_LET(id, queues_.run_schedule(queue, name));
    return json_answer(Writer().object().name("id").string(id).end_object().take());
  });
}

void V1::list_batches(Call call) {
  const auto limit = limit_of(call);
  if (!limit) return refuse_v1(call, limit.error());
  const std::string queue = call.parts[0];
  const std::string after = query_text(call, "after");
  work_.look_up(std::move(call), [=, this, limit = *limit]() -> Result<net::HttpResponse> {
    SLUICE_LET(all, queues_.list_batches(queue, after, limit));
    return page_answer("batches", all, limit, all.empty() ? "" : all.back().id);
  });
}

void V1::get_batch(Call call) {
  const queue::BatchRef batch{call.parts[0], call.parts[1]};
  work_.look_up(std::move(call), [this, batch]() -> Result<net::HttpResponse> {
    SLUICE_LET(found, queues_.get_batch(batch));
    return item_answer(found);
  });
}

void V1::open_batch(Call call) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const auto fields = Fields::of(*body);
  if (!fields) return refuse_v1(call, fields.error());
  auto parsed = parse_batch(call, *fields);
  if (!parsed) return refuse_v1(call, parsed.error());
  const std::string operation = operation_of(call);
  const auto batch = std::make_shared<const queue::NewBatch>(std::move(*parsed));
  work_.look_up(std::move(call), [this, batch, operation]() -> Result<net::HttpResponse> {
    SLUICE_LET(id, queues_.open_batch(*batch, {.operation = operation}));
    net::HttpResponse answer =
        json_answer(Writer().object().name("id").string(id).end_object().take());
    answer.status = 201;
    return answer;
  });
}

void V1::change_batch(Call call, BatchVerb verb) {
  const queue::BatchRef batch{call.parts[0], call.parts[1]};
  const std::string operation = operation_of(call);
  work_.look_up(std::move(call), [this, verb, batch, operation]() -> Result<net::HttpResponse> {
    SLUICE_TRY((queues_.*verb)(batch, {.operation = operation}));
    return json_answer("{}");
  });
}

// As a page, or as a stream for whoever accepts one. "now" as the cursor is what is to come.
void V1::events(Call call) {
  const auto limit = limit_of(call);
  if (!limit) return refuse_v1(call, limit.error());
  const std::string_view* const accepted = call.request().head.find("accept");
  const std::string_view* const last = call.request().head.find("last-event-id");
  const bool as_stream = accepted != nullptr && accepts_stream(*accepted);
  queue::EventsRequest request{
      .queue = call.parts[0], .after = query_text(call, "after"), .limit = *limit};
  if (as_stream && last != nullptr) request.after = *last;
  work_.run(std::move(call), [this, request = std::move(request), as_stream](Call held) mutable {
    const auto page = [&]() -> Result<queue::EventPage> {
      if (request.after == "now") {
        SLUICE_LET(end, queues_.events_end(request.queue));
        request.after = end;
      }
      return queues_.events(request);
    }();
    if (!page) return refuse_v1(held, page.error());
    if (as_stream) {
      const Status opened = streams_.open(
          held.exchange, {.queue = request.queue, .after = request.after, .grant = held.grant});
      return opened.ok() ? void() : refuse_v1(held, opened);
    }
    Writer writer;
    writer.object().name("events").array();
    for (const queue::Event& event : page->events) server::put(writer, event);
    writer.end_array().name("next").string(page->next).name("gap").boolean(page->gap);
    held.exchange.reply(json_answer(writer.end_object().take()));
  });
}

}  // namespace sluice::server
