// SPDX-License-Identifier: MIT
// push, pop, complete, release, and the counts and lists of jobs.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>

#include "server/answer.h"
#include "server/compat.h"
#include "server/compat_answers.h"

namespace sluice::server {
namespace {

using codec::json::Writer;

constexpr std::uint32_t kJobsByDefault = 10'000;
constexpr std::uint32_t kJobsMax = 100'000;

struct Push {
  std::string team = {};
  std::string id = {};
  std::int32_t priority = 0;
  std::optional<std::string> crawl = {};
  std::int64_t timeout_ms = 0;
  CompatJob job = {};
};

Result<Push> parse_push(const Fields& fields) {
  Push push;
  SLUICE_LET(team, fields.name("teamId"));
  SLUICE_LET(job, fields.object("job"));
  SLUICE_LET(id, job.name("id"));
  SLUICE_LET(data, job.raw("data"));
  SLUICE_LET(priority, job.integer("priority", INT32_MIN, INT32_MAX));
  SLUICE_LET(listenable, job.boolean("listenable"));
  SLUICE_LET(channel, job.optional_name("listenChannelId"));
  SLUICE_LET(timeout, fields.optional_integer("timeout"));
  SLUICE_LET(crawl, fields.optional_name("crawlId"));
  push.team = std::move(team);
  push.id = std::move(id);
  push.priority = static_cast<std::int32_t>(priority);
  push.crawl = std::move(crawl);
  push.timeout_ms = timeout.value_or(0);
  push.job.data = data;
  push.job.listenable = listenable;
  push.job.channel = std::move(channel);
  return push;
}

/// The job as a new one of the queue. Jobs of a crawl have no time limit.
queue::NewJob to_new_job(const Push& push) {
  queue::NewJob job{.queue = push.team,
                    .id = push.id,
                    .group = push.crawl.value_or(""),
                    .payload = encode(push.job),
                    .priority = push.priority};
  constexpr auto kMost = std::chrono::duration_cast<std::chrono::milliseconds>(queue::kDelayMax);
  if (push.job.times_out_ms) job.ttl = std::min(std::chrono::milliseconds(push.timeout_ms), kMost);
  return job;
}

/// One job for an id: a second push changes the data of one that waits, and nothing of one that is
/// held by a worker. How many were enqueued.
Result<std::size_t> enqueue(queue::Scope& scope, const queue::NewJob& job) {
  const auto id = scope.enqueue(job);
  if (id) return 1;
  if (id.error().code() != Code::already_exists) return Failure{id.error()};
  const Status edited = scope.edit({.queue = job.queue, .id = job.id, .payload = job.payload});
  if (!edited.ok() && edited.code() != Code::conflict) return Failure{edited};
  return 0;
}

std::string claim_text(const queue::Lease& lease, std::int64_t now_ms) {
  auto job = decode_compat_job(lease.payload);
  // One that came another way has its payload as data: JSON if it is, else a string.
  if (!job) {
    Writer data;
    const bool is_json = codec::json::parse(lease.payload, {.any_numbers = true}).has_value();
    job = CompatJob{.data = is_json ? lease.payload : data.string(lease.payload).take(),
                    .created_ms = now_ms};
  }
  Writer writer;
  writer.object().name("job").object();
  writer.name("id").string(lease.id).name("data").raw(job->data);
  writer.name("priority").number(lease.priority).name("listenable").boolean(job->listenable);
  writer.name("createdAt").number(job->created_ms);
  if (job->times_out_ms) writer.name("timesOutAt").number(*job->times_out_ms);
  if (job->channel) writer.name("listenChannelId").string(*job->channel);
  if (!lease.group.empty()) writer.name("crawlId").string(lease.group);
  writer.name("teamId").string(lease.queue).end_object();
  writer.name("queueKey")
      .string(encode(QueueKey{.team = lease.queue, .id = lease.id, .token = lease.token}));
  return writer.end_object().take();
}

std::uint64_t unfinished(const queue::Counts& counts) {
  return counts.backlog() + counts.leased;
}

/// In the order in which they are, or would be, handed out.
struct Listed {
  std::int32_t priority = 0;
  kv::Mark number = {};
  std::string id = {};
  friend bool operator<(const Listed& a, const Listed& b) {
    return std::tie(a.priority, a.number) < std::tie(b.priority, b.number);
  }
};

Status list_lane(queue::Queues& queues, const std::string& team, queue::Lane lane,
                 std::size_t limit, std::vector<Listed>& into) {
  queue::ListRequest request{.queue = team, .lane = lane};
  for (std::size_t left = limit; left > 0;) {
    request.limit = std::min(left, queue::kPageMax);
    const auto page = queues.list(request);
    if (!page) return page.error().code() == Code::not_found ? Status() : page.error();
    for (const queue::Job& job : page->jobs) into.push_back({job.priority, job.number, job.id});
    left -= std::min(left, page->jobs.size());
    if (page->next.empty()) break;
    request.after = page->next;
  }
  return {};
}

}  // namespace

void Compat::push(Call call) {
  auto request = read_fields(call, parse_push);
  if (!request || !check_team(call, May::enqueue, request->team)) return;
  // Overdue before it came: it would never be handed out.
  if (request->timeout_ms < 0 && !request->crawl) return call.exchange.reply(success_answer(true));
  request->job.created_ms = now_ms();
  if (request->timeout_ms > 0 && !request->crawl)
    request->job.times_out_ms =
        request->job.created_ms + std::min(request->timeout_ms, INT64_MAX / 4);
  const auto job = std::make_shared<const queue::NewJob>(to_new_job(*request));
  const auto body = [this, job](kv::Transaction& txn, Work::Answer& answer) -> Status {
    queue::Scope scope(queues_, txn);
    SLUICE_LET(jobs, enqueue(scope, *job));
    if (!job->group.empty())
      txn.put_stamped_value(crawl_key(job->group, job->queue), job->queue, txn.take_ordinal());
    answer = success_answer(true);
    answer.jobs = jobs;
    return {};
  };
  work_.with_room(std::move(call), 1, [this, job, body](Call admitted) {
    if (knows(job->queue)) return work_.write(std::move(admitted), kv::WriteClass::grow, body);
    work_.run(std::move(admitted), [this, job, body](Call held) {
      const Status prepared = prepare(job->queue);
      if (!prepared.ok()) return held.exchange.reply(failure_answer(prepared));
      work_.write(std::move(held), kv::WriteClass::grow, body);
    });
  });
}

void Compat::pop(Call call) {
  auto request = read_fields(call, [&](const Fields& fields) -> Result<queue::ClaimRequest> {
    SLUICE_LET(worker, fields.name("workerId"));
    SLUICE_LET(blocked, fields.names("blockedCrawlIds"));
    std::ranges::sort(blocked);
    const auto repeated = std::ranges::unique(blocked);
    blocked.erase(repeated.begin(), repeated.end());
    return queue::ClaimRequest{.queues = {call.parts[0]},
                               .lease = options_.lease,
                               .worker = std::move(worker),
                               .skip_groups = std::move(blocked)};
  });
  if (!request) return;
  const auto claim = std::make_shared<const queue::ClaimRequest>(std::move(*request));
  work_.write(std::move(call), kv::WriteClass::drain,
              [this, claim](kv::Transaction& txn, net::HttpResponse& answer) -> Status {
                queue::Scope scope(queues_, txn);
                SLUICE_LET(claimed, scope.claim(*claim));
                if (claimed.leases.empty()) {
                  answer = json_answer("null");
                  if (claimed.moved) answer.status = Work::kAgain;
                  return {};
                }
                const queue::Lease& lease = claimed.leases.front();
                txn.put(
                    claim_key(lease.id, lease.queue),
                    encode(QueueKey{.team = lease.queue, .id = lease.id, .token = lease.token}));
                answer = json_answer(claim_text(lease, now_ms()));
                return {};
              });
}

void Compat::complete(Call call) {
  auto text = read_fields(call, [](const Fields& fields) { return fields.text("queueKey"); });
  if (!text) return;
  auto key = decode_queue_key(*text);
  if (!key) return answer_refusal(call, 400, key.error());
  if (!check_team(call, May::work, key->team)) return;
  work_.write(std::move(call), kv::WriteClass::drain,
              [this, key = *key](kv::Transaction& txn, net::HttpResponse& answer) -> Status {
                queue::Scope scope(queues_, txn);
                const Status acked = scope.ack({.queue = key.team, .token = key.token});
                const bool gone =
                    acked.code() == Code::lease_lost || acked.code() == Code::not_found;
                if (!acked.ok() && !gone) return acked;
                if (acked.ok()) txn.erase(claim_key(key.id, key.team));
                answer = success_answer(acked.ok());
                return {};
              });
}

void Compat::release(Call call) {
  auto id = read_fields(call, [](const Fields& fields) { return fields.name("jobId"); });
  if (!id) return;
  work_.write(std::move(call), kv::WriteClass::drain,
              [this, id = *id](kv::Transaction& txn, net::HttpResponse& answer) -> Status {
                SLUICE_LET(claims, txn.scan(claims_of(id)));
                queue::Scope scope(queues_, txn);
                for (const kv::KeyValue& claim : claims) {
                  txn.erase(claim.key);
                  SLUICE_LET(key, decode_queue_key(claim.value));
                  const Status released = scope.release({.queue = key.team, .token = key.token});
                  const bool gone =
                      released.code() == Code::lease_lost || released.code() == Code::not_found;
                  if (!released.ok() && !gone) return released;
                }
                answer = success_answer(true);
                return {};
              });
}

void Compat::count_team(Call call) {
  const auto counts = queues_.count(call.parts[0]);
  if (counts) return call.exchange.reply(number_answer("count", unfinished(*counts)));
  if (counts.error().code() == Code::not_found)
    return call.exchange.reply(number_answer("count", 0));
  call.exchange.reply(failure_answer(counts.error()));
}

Result<std::vector<std::string>> Compat::teams_with(const std::string& crawl) {
  std::vector<std::string> teams;
  SLUICE_TRY(queues_.store().read([&](kv::Reader& reader) -> Status {
    teams.clear();
    SLUICE_LET(entries, reader.scan(teams_of_crawl(crawl)));
    for (const kv::KeyValue& entry : entries) teams.emplace_back(team_of(entry.value));
    return {};
  }));
  return teams;
}

Result<std::uint64_t> Compat::unfinished_of_crawl(const std::string& crawl) {
  SLUICE_LET(teams, teams_with(crawl));
  std::uint64_t sum = 0;
  for (const std::string& team : teams) {
    const auto counts = queues_.count(team, crawl);
    if (!counts && counts.error().code() == Code::not_found) continue;
    SLUICE_TRY(counts);
    sum += unfinished(*counts);
  }
  return sum;
}

void Compat::count_crawl(Call call) {
  const auto sum = unfinished_of_crawl(call.parts[0]);
  call.exchange.reply(sum ? number_answer("count", *sum) : failure_answer(sum.error()));
}

void Compat::list_jobs(Call call) {
  const auto wanted = call.query.find("limit");
  const auto limit = parse_query_number(
      "limit", wanted == call.query.end() ? nullptr : &wanted->second, kJobsByDefault);
  if (!limit) return answer_refusal(call, 400, limit.error());
  const std::string team = call.parts[0];
  const std::size_t most = std::min(*limit, kJobsMax);
  work_.look_up(std::move(call), [this, team, most]() -> Result<net::HttpResponse> {
    std::vector<Listed> jobs;
    SLUICE_TRY(list_lane(queues_, team, queue::Lane::ready, most, jobs));
    SLUICE_TRY(list_lane(queues_, team, queue::Lane::leased, most == 0 ? 0 : kJobsMax, jobs));
    std::ranges::sort(jobs, std::less<>());
    jobs.resize(std::min(jobs.size(), most));
    std::vector<std::string> ids;
    for (Listed& job : jobs) ids.push_back(std::move(job.id));
    return list_answer("jobIds", ids);
  });
}

}  // namespace sluice::server
