// SPDX-License-Identifier: MIT
// The API of fdb-queue-service, for its existing clients: 25 routes at the root. A team is a queue,
// a crawl is a group. docs/guide/compat.md says what is the same and what is better.
#pragma once

#include <sluice/clock.h>
#include <sluice/log.h>
#include <sluice/queue.h>

#include <string>
#include <unordered_set>

#include "base/mutex.h"
#include "codec/json.h"
#include "server/answer.h"
#include "server/compat_records.h"
#include "server/errands.h"
#include "server/fields.h"
#include "server/routes.h"
#include "server/work.h"

namespace sluice::server {

struct CompatOptions {
  Duration lease = std::chrono::seconds(60);  ///< Of a pop.
  LogSink log = {};
};

/// The handlers. Lives as long as requests may come; every member may be called from any thread.
class Compat {
 public:
  Compat(const Access& access, Errands& errands, CompatOptions options)
      : queues_(access.queues()),
        work_(access, errands, failure_answer),
        options_(std::move(options)) {}

  void add_to(Routes& routes);

  /// Removes markers that have run out, at most about a thousand of each owner. How many.
  Result<std::uint64_t> remove_old_markers();

 private:
  void remember(const std::string& team);
  bool knows(const std::string& team);
  Status prepare(const std::string& team);

  // compat_queue.cc
  void push(Call call);
  void pop(Call call);
  void complete(Call call);
  void release(Call call);
  void count_team(Call call);
  void count_crawl(Call call);
  void list_jobs(Call call);
  Result<std::vector<std::string>> teams_with(const std::string& crawl);
  Result<std::uint64_t> unfinished_of_crawl(const std::string& crawl);

  // compat_markers.cc
  void push_marker(Call call, Owner owner);
  void remove_marker(Call call, Owner owner);
  void count_markers(Call call, Owner owner);
  void list_markers(Call call, Owner owner);
  Result<std::uint64_t> remove_markers(std::string_view count_key, std::int64_t now_ms);

  // compat_care.cc
  void clean_jobs(Call call);
  void clean_markers(Call call);
  void clean_claims(Call call);
  void clean_crawls(Call call);
  void reconcile_jobs(Call call, Owner owner);
  void reconcile_markers(Call call, Owner owner);
  Status recount(const std::string& team, const std::string& crawl);
  void sample_teams(Call call);
  void sample_crawls(Call call);

  std::int64_t now_ms() const;

  queue::Queues& queues_;
  Work work_;
  const CompatOptions options_;
  Mutex mutex_;
  std::unordered_set<std::string> teams_ SLUICE_GUARDED_BY(mutex_);  // Known to exist.
};

/// The body of a request as JSON, with members called "data" raw. Answers 415 or 400 by itself, and
/// leaves nothing then.
std::optional<codec::json::Value> read_json(Call& call);
/// Calls `parse` with the members of the body. Answers by itself if they make no sense.
template <class Parse>
auto read_fields(Call& call, Parse parse)
    -> std::optional<typename std::invoke_result_t<Parse, const Fields&>::value_type>;
/// For a team that the body names. Answers by itself if the token is not good for it.
bool check_team(Call& call, May may, std::string_view team);
void answer_refusal(Call& call, unsigned status, const Status& why);

// ------------------------------------------------------------------------------ implementation

template <class Parse>
auto read_fields(Call& call, Parse parse)
    -> std::optional<typename std::invoke_result_t<Parse, const Fields&>::value_type> {
  const auto body = read_json(call);
  if (!body) return {};
  const auto fields = Fields::of(*body);
  if (!fields) {
    answer_refusal(call, 422, fields.error());
    return {};
  }
  auto request = parse(*fields);
  if (request) return std::move(*request);
  answer_refusal(call, 422, request.error());
  return {};
}

}  // namespace sluice::server
