// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sluice/client.h>

#include <mutex>
#include <set>
#include <thread>

#include "service.h"
#include "tests/support/temp_dir.h"

namespace sluice::client {
namespace {

using namespace std::chrono_literals;
using queue::Lane;

/// Claims one job, which must be there.
queue::Lease claim_one(Client& client, const std::string& queue) {
  auto leases = client.claim({.queues = {queue}, .worker = "me"}).value();
  return std::move(leases.at(0));
}

TEST(Client, a_job_goes_all_the_way) {
  TestService service;
  const auto client = service.client();
  const std::string id = client->enqueue({.queue = "mail", .payload = R"({"to": "ann"})"}).value();
  EXPECT_EQ(client->count("mail").value().ready, 1u);
  const queue::Lease lease = claim_one(*client, "mail");
  EXPECT_EQ(lease.id, id);
  EXPECT_EQ(lease.queue, "mail");
  EXPECT_EQ(lease.payload, R"({"to": "ann"})");
  EXPECT_EQ(lease.attempt, 1u);
  const auto inside = service.queues().get({"mail", id}).value();
  EXPECT_EQ(inside.lane, Lane::leased);
  EXPECT_EQ(inside.worker, "me");
  EXPECT_EQ(lease.deadline, std::chrono::floor<std::chrono::milliseconds>(*inside.deadline));
  EXPECT_TRUE(client->ack({.queue = "mail", .token = lease.token}).ok());
  EXPECT_EQ(client->count("mail").value().total(), 0u);
  EXPECT_EQ(client->ack({.queue = "mail", .token = lease.token}).code(), Code::lease_lost);
}

TEST(Client, everything_about_a_new_job_arrives) {
  TestService service;
  const auto client = service.client();
  ASSERT_TRUE(service.queues().configure("q", {.done_retention = 1h}).ok());
  const WallTime due =
      std::chrono::ceil<std::chrono::milliseconds>(service.queues().store().now()) + 1h;
  const queue::RetryPolicy retry{
      .attempts_max = 7, .base = 3s, .factor = 1.5, .cap = 9s, .jitter = 0.25};
  queue::NewJob job{.queue = "q/\xc3\xa4 %",
                    .id = "job/1?#",
                    .group = "g \"1\"",
                    .payload = "x",
                    .priority = -3,
                    .due = due,
                    .ttl = 2h,
                    .retry = retry};
  EXPECT_EQ(client->enqueue(job).value(), job.id);
  const auto stored = service.queues().get({job.queue, job.id}, {.payload = true}).value();
  EXPECT_EQ(stored.group, job.group);
  EXPECT_EQ(stored.payload, job.payload);
  EXPECT_EQ(stored.priority, -3);
  EXPECT_EQ(stored.due, due);
  EXPECT_EQ(*stored.expires - stored.enqueued, 2h);
  EXPECT_EQ(stored.retry, retry);
  EXPECT_EQ(stored.lane, Lane::scheduled);
  EXPECT_TRUE(client->enqueue({.queue = "q", .id = "held", .label = "high", .hold = true}));
  EXPECT_EQ(service.queues().get({"q", "held"}).value().lane, Lane::held);
  EXPECT_EQ(service.queues().get({"q", "held"}).value().priority, 0);
  EXPECT_TRUE(client->enqueue({.queue = "q", .id = "later", .delay = 1ns}));
  EXPECT_TRUE(service.queues().get({"q", "later"}).value().due);
}

TEST(Client, a_job_is_told_as_it_is) {
  TestService service;
  const auto client = service.client();
  ASSERT_TRUE(service.queues().configure("q", {.done_retention = 1h}).ok());
  const queue::RetryPolicy retry{.attempts_max = 2, .base = 0s, .cap = 0s};
  ASSERT_TRUE(
      client->enqueue({.queue = "q", .id = "j", .group = "g", .payload = "[1]", .retry = retry}));
  const auto first = claim_one(*client, "q");
  ASSERT_TRUE(client->extend({.queue = "q", .token = first.token, .progress = "half"}));
  ASSERT_TRUE(client->fail({.queue = "q", .token = first.token, .error = "broke"}).ok());
  const auto second = claim_one(*client, "q");
  EXPECT_EQ(second.attempt, 2u);
  ASSERT_TRUE(client->ack({.queue = "q", .token = second.token, .result = "fine"}).ok());
  const queue::Job told = client->get({"q", "j"}).value();
  const queue::Job job =
      service.queues().get({"q", "j"}, {.payload = true, .history = true}).value();
  const auto ms = [](WallTime time) { return std::chrono::floor<std::chrono::milliseconds>(time); };
  EXPECT_EQ(told.queue, "q");
  EXPECT_EQ(told.id, "j");
  EXPECT_EQ(told.group, "g");
  EXPECT_EQ(told.lane, Lane::done);
  EXPECT_EQ(told.priority, job.priority);
  EXPECT_EQ(told.attempts, 2u);
  EXPECT_EQ(told.enqueued, ms(job.enqueued));
  EXPECT_EQ(told.finished, ms(*job.finished));
  EXPECT_EQ(told.worker, "me");
  EXPECT_EQ(told.error, "broke");
  EXPECT_EQ(told.progress, job.progress);
  EXPECT_EQ(told.result, "fine");
  EXPECT_EQ(told.payload, "[1]");
  EXPECT_EQ(told.payload_bytes, 3u);
  EXPECT_EQ(told.retry, retry);
  ASSERT_EQ(told.history.size(), 2u);
  EXPECT_EQ(told.history[0].outcome, queue::Outcome::failed);
  EXPECT_EQ(told.history[0].error, "broke");
  EXPECT_EQ(told.history[1].outcome, queue::Outcome::acked);
  EXPECT_EQ(told.history[1].number, 2u);
  EXPECT_EQ(told.history[1].ended, ms(job.history[1].ended));
}

TEST(Client, payloads_come_out_as_they_went_in) {
  TestService service;
  const auto client = service.client();
  std::vector<std::string> payloads = {"",
                                       "null",
                                       "1",
                                       "-0.5e300",
                                       "123456789012345678901234567890",
                                       "\"text\"",
                                       "{\"a\": [1, 2.0, {}]}",
                                       "{\"a\":1,\"a\":2}",
                                       "1,\"id\":\"other\"",
                                       "1}",
                                       "plain words",
                                       std::string("\0\xff\r\n", 4),
                                       std::string(60, '[') + std::string(60, ']'),
                                       std::string(70, '[') + std::string(70, ']'),
                                       std::string(1 << 20, '\xff')};
  for (const std::string& payload : payloads) {
    ASSERT_TRUE(client->enqueue({.queue = "q", .payload = payload})) << payload.substr(0, 50);
    const auto lease = claim_one(*client, "q");
    EXPECT_TRUE(lease.payload == payload) << payload.substr(0, 50);
    EXPECT_TRUE(client->get({"q", lease.id}).value().payload == payload);
    ASSERT_TRUE(client->ack({.queue = "q", .token = lease.token}).ok());
  }
  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "spaced", .payload = " [1]\n"}));
  EXPECT_EQ(service.queues().get({"q", "spaced"}, {.payload = true}).value().payload, " [1]\n");
  EXPECT_EQ(claim_one(*client, "q").payload, "[1]");
}

TEST(Client, a_claim_says_what_it_wants) {
  TestService service;
  const auto client = service.client();
  std::vector<queue::NewJob> jobs;
  for (const char* group : {"a", "b", "c"})
    for (int i = 0; i < 3; ++i) jobs.push_back({.queue = group, .group = group});
  for (const auto& id : client->enqueue(jobs)) ASSERT_TRUE(id);
  const auto leases = client->claim(
      {.queues = {"a", "b", "c"}, .jobs_max = 5, .lease = 10min, .skip_groups = {"b"}});
  ASSERT_EQ(leases->size(), 5u);
  for (const queue::Lease& lease : *leases) {
    EXPECT_NE(lease.queue, "b");
    EXPECT_GT(lease.deadline, service.queues().store().now() + 5min);
  }
  EXPECT_EQ(client->claim({.queues = {"nothing"}})->size(), 0u);
  EXPECT_EQ(client->claim({.queues = {"nothing"}, .wait = 1ms})->size(), 0u);
}

TEST(Client, a_claim_that_waits_is_woken_by_an_enqueue) {
  TestService service;
  const auto client = service.client();
  std::jthread worker([&] {
    const auto leases = client->claim({.queues = {"q"}, .wait = 3h});
    ASSERT_TRUE(leases) << leases.error().message();
    ASSERT_EQ(leases->size(), 1u);
    EXPECT_EQ((*leases)[0].id, "j");
  });
  service.wait_for_request();
  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "j"}));
}

TEST(Client, a_claim_that_waits_can_be_stopped) {
  TestService service;
  const auto client = service.client();
  std::stop_source stop;
  std::jthread worker([&] {
    const auto leases = client->claim({.queues = {"q"}, .wait = 3h, .stop = stop.get_token()});
    ASSERT_TRUE(leases) << leases.error().message();
    EXPECT_TRUE(leases->empty());
  });
  service.wait_for_request();
  stop.request_stop();
}

TEST(Client, a_claim_that_waits_ends_with_the_service) {
  TestService service;
  const auto client = open_client({.url = service.url(), .attempts_max = 1});
  std::jthread worker([&] {
    const auto leases = client->claim({.queues = {"q"}, .wait = 3h});
    if (leases)
      EXPECT_TRUE(leases->empty());
    else
      EXPECT_EQ(leases.error().code(), Code::unavailable);
  });
  service.wait_for_request();
  service.stop();
}

TEST(Client, what_workers_say_has_its_effect) {
  TestService service;
  const auto client = service.client();
  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "j"}));
  auto lease = claim_one(*client, "q");
  const auto deadline = client->extend({.queue = "q", .token = lease.token, .lease = 2h});
  EXPECT_GT(deadline.value(), lease.deadline + 1h);
  EXPECT_TRUE(client->release({.queue = "q", .token = lease.token}).ok());
  EXPECT_EQ(client->get({"q", "j"}).value().attempts, 0u);
  lease = claim_one(*client, "q");
  EXPECT_TRUE(client->fail({.queue = "q", .token = lease.token, .error = "e", .delay = 1h}).ok());
  EXPECT_EQ(client->get({"q", "j"}).value().lane, Lane::scheduled);
  EXPECT_TRUE(client->cancel({"q", "j"}).ok());
  EXPECT_EQ(client->get({"q", "j"}).error().code(), Code::not_found);  // Nothing is kept.

  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "k"}));
  lease = claim_one(*client, "q");
  EXPECT_TRUE(client->fail({.queue = "q", .token = lease.token, .dead = true}).ok());
  EXPECT_EQ(client->get({"q", "k"}).value().reason, queue::DeathReason::refused);
  EXPECT_EQ(client->count("q").value().dead, 1u);
  EXPECT_TRUE(client->requeue({.queue = "q", .id = "k"}).ok());
  EXPECT_EQ(client->get({"q", "k"}).value().lane, Lane::ready);
  lease = claim_one(*client, "q");
  EXPECT_TRUE(client->release({.queue = "q", .token = lease.token, .delay = 1h}).ok());
  EXPECT_EQ(client->get({"q", "k"}).value().lane, Lane::scheduled);
}

TEST(Client, children_are_enqueued_with_the_ack) {
  TestService service;
  const auto client = service.client();
  ASSERT_TRUE(client->enqueue({.queue = "q"}));
  const auto lease = claim_one(*client, "q");
  EXPECT_TRUE(client
                  ->ack({.queue = "q",
                         .token = lease.token,
                         .children = {{.id = "c", .payload = "[]"}, {.queue = "r", .id = "d"}}})
                  .ok());
  EXPECT_EQ(client->get({"q", "c"}).value().payload, "[]");
  EXPECT_EQ(client->get({"r", "d"}).value().lane, Lane::ready);
}

TEST(Client, failures_have_the_code_of_the_service) {
  TestService service;
  const auto client = service.client();
  EXPECT_EQ(client->count("none").error().code(), Code::not_found);
  EXPECT_EQ(client->get({"none", "j"}).error().code(), Code::not_found);
  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "j"}));
  const auto again = client->enqueue({.queue = "q", .id = "j"});
  EXPECT_EQ(status_of(again).code(), Code::already_exists);
  EXPECT_NE(status_of(again).message().find("j"), std::string::npos);
  EXPECT_EQ(client->requeue({.queue = "q", .id = "j"}).code(), Code::conflict);
  EXPECT_EQ(status_of(client->enqueue({.queue = std::string(257, 'q')})).code(),
            Code::invalid_argument);
  ASSERT_TRUE(service.queues().configure("full", {.backlog_max = 0}).ok());
  EXPECT_EQ(status_of(client->enqueue({.queue = "full"})).code(), Code::limit_exceeded);
  EXPECT_EQ(client->ack({.queue = "q", .token = {}}).code(), Code::lease_lost);
}

TEST(Client, many_jobs_go_in_a_few_requests) {
  TestService service;
  const auto client = service.client();
  std::vector<queue::NewJob> jobs;
  for (std::size_t i = 0; i < 2 * kRequestJobsMax + 1; ++i)
    jobs.push_back({.queue = "q", .id = std::to_string(i), .payload = std::to_string(i)});
  for (int i = 0; i < 3; ++i)  // Each of them nearly fills a request.
    jobs.push_back({.queue = "large", .payload = std::string(700'000, 'x')});
  const auto ids = client->enqueue(jobs);
  ASSERT_EQ(ids.size(), jobs.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(ids[i]) << i << ": " << ids[i].error().message();
    if (!jobs[i].id.empty()) {
      EXPECT_EQ(*ids[i], jobs[i].id);
    }
  }
  EXPECT_EQ(client->count("q").value().ready, 2 * kRequestJobsMax + 1);
  EXPECT_EQ(client->count("large").value().ready, 3u);
  EXPECT_TRUE(client->enqueue(std::span<const queue::NewJob>()).empty());
}

TEST(Client, each_of_many_jobs_has_its_own_outcome) {
  TestService service;
  const auto client = service.client();
  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "taken"}));
  const std::vector<queue::NewJob> jobs = {{.queue = "q", .id = "a"},
                                           {.queue = "q", .id = "taken"},
                                           {.queue = "q", .id = "b"},
                                           {.queue = "q", .after = {{.id = "a"}}},
                                           {.queue = "q", .id = "c"},
                                           {.queue = "", .id = "d"},
                                           {.queue = "r", .id = std::string(300, 'x')},
                                           {.queue = "s", .id = "e"}};
  const auto ids = client->enqueue(jobs);
  ASSERT_EQ(ids.size(), jobs.size());
  const Code wanted[] = {Code::ok,
                         Code::already_exists,
                         Code::ok,
                         Code::invalid_argument,
                         Code::ok,
                         Code::invalid_argument,
                         Code::invalid_argument,
                         Code::ok};
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(status_of(ids[i]).code(), wanted[i]) << i;
  EXPECT_EQ(client->count("q").value().ready, 4u);
}

TEST(Client, speaks_over_a_unix_socket) {
  const test::TempDir dir;
  TestService service("unix:" + (dir / "socket"));
  const auto client = service.client();
  ASSERT_TRUE(client->enqueue({.queue = "q", .payload = "1"}));
  EXPECT_EQ(claim_one(*client, "q").payload, "1");
}

TEST(Client, serves_many_threads) {
  TestService service;
  const auto client = open_client({.url = service.url(), .connections_max = 4});
  constexpr int kThreads = 8;
  constexpr int kJobs = 25;
  std::mutex mutex;
  std::multiset<std::string> seen;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kJobs; ++i) {
          const std::string name = std::to_string(thread) + "-" + std::to_string(i);
          ASSERT_TRUE(client->enqueue({.queue = "q", .id = name}));
          const auto lease = claim_one(*client, "q");
          ASSERT_TRUE(client->ack({.queue = "q", .token = lease.token}).ok());
          const std::lock_guard lock(mutex);
          seen.insert(lease.id);
        }
      });
  }
  EXPECT_EQ(seen.size(), kThreads * kJobs);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_EQ(client->count("q").value().total(), 0u);
}

TEST(Client, options_that_make_no_sense_are_refused) {
  for (const ClientOptions& options :
       std::vector<ClientOptions>{{.url = ""},
                                  {.url = "127.0.0.1:3100"},
                                  {.url = "http://127.0.0.1:3100/?a"},
                                  {.url = "http://127.0.0.1:3100/#a"},
                                  {.url = "http://127.0.0.1", .token = "a\r\nX: b"},
                                  {.url = "http://127.0.0.1", .ca_file = "/no/such/file"},
                                  {.url = "http://127.0.0.1", .connections_max = 0},
                                  {.url = "http://127.0.0.1", .connect_time = {}},
                                  {.url = "http://127.0.0.1", .call_time = {}},
                                  {.url = "http://127.0.0.1", .attempts_max = 0},
                                  {.url = "http://127.0.0.1", .backoff = {.factor = 0}}}) {
    const auto client = Client::open(options);
    ASSERT_FALSE(client) << options.url;
    EXPECT_EQ(client.error().code(), Code::invalid_argument);
  }
}

}  // namespace
}  // namespace sluice::client
