// SPDX-License-Identifier: MIT
// The native API, below /v1/. docs/guide/http.md shows it in use.
#pragma once

#include <sluice/queue.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "codec/json.h"
#include "server/answer.h"
#include "server/errands.h"
#include "server/event_streams.h"
#include "server/fields.h"
#include "server/long_polls.h"
#include "server/routes.h"
#include "server/work.h"

namespace sluice::server {

/// Jobs in one request.
inline constexpr std::size_t kRequestJobsMax = 10'000;

/// The description of this API, OpenAPI 3.1: src/server/openapi.json.
std::string_view openapi_text();

/// The handlers. Lives as long as requests may come; every member may be called from any thread.
class V1 {
 public:
  V1(const Access& access, Errands& errands, std::function<Result<std::string>()> verify = {})
      : access_(access),
        queues_(access.queues()),
        verify_(std::move(verify)),
        work_(access, errands, v1_failure),
        long_polls_(access.queues()),
        streams_(access) {}

  void add_to(Routes& routes);
  /// Ends what waits, with what there is: nothing.
  void stop() {
    long_polls_.stop();
    streams_.stop();
  }

 private:
  // v1_jobs.cc
  void add_jobs(Routes& routes);
  void enqueue(Call call);
  void enqueue_many(Call call, const Fields& fields);
  void get_job(Call call);
  void list_jobs(Call call);
  void explain(Call call);
  void edit(Call call);
  using JobVerb = Status (queue::Queues::*)(const queue::JobRef&, const queue::CallOptions&);
  void change(Call call, JobVerb verb);
  void requeue(Call call);

  // v1_leases.cc
  void add_leases(Routes& routes);
  void claim(Call call);
  template <class Request>
  void settle(Call call, Result<Request> (*parse)(const Fields& fields));
  template <class Request>
  Work::Body settling(std::shared_ptr<const std::vector<Request>> all, bool many,
                      const std::string& operation);

  // v1_queues.cc
  void add_queues(Routes& routes);
  void list_queues(Call call);
  void get_queue(Call call);
  void configure(Call call);
  void remove_queue(Call call);
  void pause(Call call, bool paused);
  void purge(Call call);
  void list_groups(Call call);
  void limit_group(Call call);
  void verify(Call call);

  // v1_flows.cc
  void add_flows(Routes& routes);
  void list_schedules(Call call);
  void get_schedule(Call call);
  void put_schedule(Call call);
  using ScheduleVerb = Status (queue::Queues::*)(std::string_view, std::string_view);
  void change_schedule(Call call, ScheduleVerb verb);
  void run_schedule(Call call);
  void list_batches(Call call);
  void get_batch(Call call);
  void open_batch(Call call);
  using BatchVerb = Status (queue::Queues::*)(const queue::BatchRef&, const queue::CallOptions&);
  void change_batch(Call call, BatchVerb verb);
  void events(Call call);

  const Access& access_;
  queue::Queues& queues_;
  const std::function<Result<std::string>()> verify_;
  Work work_;
  LongPolls long_polls_;
  EventStreams streams_;
  Mutex configuring_;
};

/// The body as JSON. Answers by itself if it is none, and leaves nothing then.
std::optional<codec::json::Value> read_v1_body(Call& call, std::string_view raw = "payload");
/// Whether the caller may enqueue it: its queue, and all that it names.
Status check_job(const Call& call, const queue::NewJob& job);
/// The Idempotency-Key, as the operation of a verb; empty if there is none.
std::string operation_of(const Call& call);
void refuse_v1(Call& call, const Status& why);
/// "limit" and "after" of a listing.
Result<std::size_t> limit_of(const Call& call);
std::string query_text(const Call& call, std::string_view name);

}  // namespace sluice::server
