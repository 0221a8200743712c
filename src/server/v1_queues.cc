// SPDX-License-Identifier: MIT
// Queues and groups.
#include "server/answer.h"
#include "server/v1.h"
#include "server/v1_json.h"

namespace sluice::server {
namespace {

Status put_queue(Writer& writer, queue::Queues& queues, const queue::Queue& queue) {
  const auto counts = queues.count(queue.name);
  if (!counts && counts.error().code() != Code::not_found) return counts.error();
  writer.object().name("name").string(queue.name).name("paused").boolean(queue.paused);
  writer.name("created_at").number(to_ms(queue.created)).name("config");
  put(writer, queue.config);
  writer.name("counts");
  put(writer, counts.value_or(queue::Counts{}));
  writer.end_object();
  return {};
}

}  // namespace

void V1::add_queues(Routes& routes) {
  using On = Need::On;
  const auto add = [&](std::string_view method, std::string_view path, Need need,
                       void (V1::*handler)(Call)) {
    routes.add(method, path, need,
               [this, handler](Call call) { (this->*handler)(std::move(call)); });
  };
  add("GET", "/v1/queues", {May::read, On::nothing}, &V1::list_queues);
  add("GET", "/v1/queues/:queue", {May::read, On::part}, &V1::get_queue);
  add("PUT", "/v1/queues/:queue", {May::admin, On::part}, &V1::configure);
  add("DELETE", "/v1/queues/:queue", {May::admin, On::part}, &V1::remove_queue);
  routes.add("POST", "/v1/queues/:queue/pause", Need{May::admin, On::part},
             [this](Call call) { pause(std::move(call), true); });
  routes.add("POST", "/v1/queues/:queue/resume", Need{May::admin, On::part},
             [this](Call call) { pause(std::move(call), false); });
  add("POST", "/v1/queues/:queue/purge", {May::admin, On::part}, &V1::purge);
  add("GET", "/v1/queues/:queue/groups", {May::read, On::part}, &V1::list_groups);
  add("PUT", "/v1/queues/:queue/groups/:group", {May::admin, On::part}, &V1::limit_group);
  add("GET", "/v1/verify", {May::admin, On::everything}, &V1::verify);
}

void V1::list_queues(Call call) {
  const auto limit = limit_of(call);
  if (!limit) return refuse_v1(call, limit.error());
  const std::string after = query_text(call, "after");
  const std::shared_ptr<Grant> grant = call.grant;
  work_.look_up(std::move(call), [=, this, limit = *limit]() -> Result<net::HttpResponse> {
    SLUICE_LET(all, server::list_queues(queues_, grant.get(), after, limit));
    Writer writer;
    writer.object().name("queues").array();
    for (const queue::Queue& queue : all) SLUICE_TRY(put_queue(writer, queues_, queue));
    writer.end_array();
    if (all.size() == limit) writer.name("next").string(all.back().name);
    return json_answer(writer.end_object().take());
  });
}

void V1::get_queue(Call call) {
  const std::string name = call.parts[0];
  work_.look_up(std::move(call), [this, name]() -> Result<net::HttpResponse> {
    SLUICE_LET(queue, queues_.get_queue(name));
    Writer writer;
    SLUICE_TRY(put_queue(writer, queues_, queue));
    return json_answer(writer.take());
  });
}

void V1::configure(Call call) {
  auto body = read_v1_body(call);
  if (!body) return;
  const auto value = std::make_shared<const codec::json::Value>(std::move(*body));
  const std::string name = call.parts[0];
  work_.look_up(std::move(call), [this, name, value]() -> Result<net::HttpResponse> {
    SLUICE_LET(fields, Fields::of(*value));
    // What is not named stays: nobody here may change it between the look and the change.
    const MutexLock lock(configuring_);
    const auto known = queues_.get_queue(name);
    if (!known && known.error().code() != Code::not_found) return Failure{known.error()};
    SLUICE_LET(wanted, parse_config(fields, known ? known->config : queue::QueueConfig()));
    SLUICE_TRY(queues_.configure(name, wanted));
    SLUICE_LET(queue, queues_.get_queue(name));
    Writer writer;
    SLUICE_TRY(put_queue(writer, queues_, queue));
    return json_answer(writer.take());
  });
}

void V1::remove_queue(Call call) {
  const std::string name = call.parts[0];
  work_.look_up(std::move(call), [this, name]() -> Result<net::HttpResponse> {
    SLUICE_TRY(queues_.remove_queue(name));
    return json_answer("{}");
  });
}

void V1::pause(Call call, bool paused) {
  const std::string name = call.parts[0];
  work_.look_up(std::move(call), [this, name, paused]() -> Result<net::HttpResponse> {
    SLUICE_TRY(paused ? queues_.pause(name) : queues_.resume(name));
    return json_answer("{}");
  });
}

void V1::purge(Call call) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const auto fields = Fields::of(*body);
  if (!fields) return refuse_v1(call, fields.error());
  const auto name = fields->name("lane");
  if (!name) return refuse_v1(call, name.error());
  const auto lane = queue::lane_from_name(*name);
  if (!lane)
    return refuse_v1(call, {Code::invalid_argument, "lane must be done, dead or cancelled"});
  const auto limit = fields->optional_integer("limit", 1);
  if (!limit) return refuse_v1(call, limit.error());
  const std::string queue = call.parts[0];
  const auto most = static_cast<std::uint64_t>(limit->value_or(INT64_MAX));
  work_.look_up(std::move(call), [=, this]() -> Result<net::HttpResponse> {
    SLUICE_LET(removed, queues_.purge(queue, *lane, most));
    return json_answer(Writer().object().name("removed").number(removed).end_object().take());
  });
}

void V1::list_groups(Call call) {
  const auto limit = limit_of(call);
  if (!limit) return refuse_v1(call, limit.error());
  const std::string name = call.parts[0];
  const std::string after = query_text(call, "after");
  work_.look_up(std::move(call),
                [this, name, after, limit = *limit]() -> Result<net::HttpResponse> {
                  SLUICE_LET(all, queues_.list_groups(name, after, limit));
                  Writer writer;
                  writer.object().name("groups").array();
                  for (const queue::Group& group : all) {
                    SLUICE_LET(counts, queues_.count(name, group.name));
                    writer.object().name("name").string(group.name);
                    if (group.limit) writer.name("limit").number(*group.limit);
                    writer.name("counts");
                    put(writer, counts);
                    writer.end_object();
                  }
                  writer.end_array();
                  if (all.size() == limit) writer.name("next").string(all.back().name);
                  return json_answer(writer.end_object().take());
                });
}

void V1::limit_group(Call call) {
  const auto body = read_v1_body(call);
  if (!body) return;
  const auto fields = Fields::of(*body);
  if (!fields) return refuse_v1(call, fields.error());
  const auto limit = fields->optional_integer("limit", 0, UINT32_MAX);
  if (!limit) return refuse_v1(call, limit.error());
  std::optional<std::uint32_t> most;
  if (*limit) most = static_cast<std::uint32_t>(**limit);
  const std::string queue = call.parts[0];
  const std::string group = call.parts[1];
  work_.look_up(std::move(call), [this, queue, group, most]() -> Result<net::HttpResponse> {
    SLUICE_TRY(queues_.limit_group(queue, group, most));
    return json_answer("{}");
  });
}

void V1::verify(Call call) {
  work_.look_up(std::move(call), [this]() -> Result<net::HttpResponse> {
    if (verify_) {
      SLUICE_LET(text, verify_());
      return json_answer(std::move(text));
    }
    SLUICE_LET(report, queue::verify(queues_.store()));
    return json_answer(report.to_json());
  });
}

}  // namespace sluice::server
