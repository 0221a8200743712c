// SPDX-License-Identifier: MIT
// The client and a way to its service that loses answers.
#include <gtest/gtest.h>
#include <sluice/client.h>
#include <sys/socket.h>

#include <atomic>

#include "base/check.h"
#include "net/testing.h"
#include "service.h"
#include "tests/support/waiting.h"

namespace sluice::client {
namespace {

using namespace std::chrono_literals;

/// Sends the request on, and returns the answer.
std::string forward(const TestService& service, const std::string& request) {
  const std::string address = service.address();
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  const net::Address where = net::numeric_address("127.0.0.1", port).value();
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  net::RawPeer peer(fd);
  SLUICE_CHECK(::connect(fd, where.raw(), where.bytes) == 0);
  SLUICE_CHECK(peer.send(request));
  net::HttpAnswer answer(request.substr(0, request.find(' ')), {});
  std::string text;
  while (answer.state() == net::HttpAnswer::State::more) {
    const std::string some = peer.some();
    answer.take(some);
    text += some;
  }
  return text;
}

/// Lets requests through to a service, and loses the first answers to them.
struct LossyWay {
  explicit LossyWay(int lost) : left(lost) {}

  TestService service = TestService();
  std::atomic<int> left;
  std::atomic<int> requests = 0;
  net::RawServer way = net::RawServer([this](net::RawPeer& peer, unsigned) {
    for (std::string request = peer.request(); !request.empty(); request = peer.request()) {
      ++requests;
      const std::string answer = forward(service, request);
      if (left-- > 0) return;
      if (!peer.send(answer)) return;
    }
  });

  std::unique_ptr<Client> client(unsigned attempts_max = 4) const {
    return open_client(
        {.url = way.url(""), .attempts_max = attempts_max, .backoff = {.base = 1ms}});
  }
};

TEST(LostAnswers, an_enqueue_happens_once) {
  LossyWay lossy(2);
  const auto client = lossy.client();
  const auto id = client->enqueue({.queue = "q"});
  ASSERT_TRUE(id) << id.error().message();
  EXPECT_EQ(lossy.service.queues().count("q").value().total(), 1u);
  EXPECT_TRUE(lossy.service.queues().get({"q", *id}));
  EXPECT_EQ(lossy.requests, 3);
}

TEST(LostAnswers, an_enqueue_of_many_happens_once) {
  LossyWay lossy(1);
  const auto client = lossy.client();
  const std::vector<queue::NewJob> jobs(50, {.queue = "q"});
  for (const auto& id : client->enqueue(jobs)) EXPECT_TRUE(id);
  EXPECT_EQ(lossy.service.queues().count("q").value().total(), 50u);
}

TEST(LostAnswers, a_claim_gets_the_jobs_that_it_got_before) {
  LossyWay lossy(0);
  const auto client = lossy.client();
  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "a"}));
  ASSERT_TRUE(client->enqueue({.queue = "q", .id = "b"}));
  lossy.left = 1;
  const auto leases = client->claim({.queues = {"q"}});
  ASSERT_TRUE(leases) << leases.error().message();
  ASSERT_EQ(leases->size(), 1u);
  EXPECT_EQ((*leases)[0].id, "a");
  EXPECT_EQ(lossy.service.queues().count("q").value().leased, 1u);
  // An ack that was lost is one that worked, not one that came too late.
  lossy.left = 1;
  EXPECT_TRUE(client->ack({.queue = "q", .token = (*leases)[0].token}).ok());
  EXPECT_EQ(lossy.service.queues().count("q").value().total(), 1u);
  lossy.left = 1;
  EXPECT_TRUE(client->cancel({"q", "b"}).ok());
}

TEST(LostAnswers, those_that_stay_lost_leave_it_unknown) {
  LossyWay lossy(1000);
  const auto client = lossy.client(3);
  EXPECT_EQ(status_of(client->enqueue({.queue = "q"}, {.operation = "mine"})).code(),
            Code::commit_unknown);
  EXPECT_EQ(lossy.requests, 3);
  EXPECT_EQ(status_of(client->count("q")).code(), Code::unavailable);  // Only a look.
  lossy.left = 0;
  EXPECT_TRUE(client->enqueue({.queue = "q"}, {.operation = "mine"}));
  EXPECT_EQ(lossy.service.queues().count("q").value().total(), 1u);
}

TEST(LostAnswers, what_was_sent_before_the_service_went_away_stays_unknown) {
  // The second time there is nobody any more, which by itself would mean that nothing happened.
  auto way = std::make_unique<net::RawServer>([](net::RawPeer& peer, unsigned) { peer.request(); });
  std::atomic<int> sleeps = 0;
  class EndingClock final : public test::MachineClock {
   public:
    EndingClock(std::unique_ptr<net::RawServer>& way, std::atomic<int>& sleeps)
        : way_(way), sleeps_(sleeps) {}
    void sleep_for(Duration, std::stop_token) const override {
      ++sleeps_;
      way_.reset();
    }

   private:
    std::unique_ptr<net::RawServer>& way_;
    std::atomic<int>& sleeps_;
  };
  const EndingClock clock(way, sleeps);
  const auto client = open_client({.url = way->url(""), .attempts_max = 3, .clock = &clock});
  EXPECT_EQ(status_of(client->enqueue({.queue = "q"})).code(), Code::commit_unknown);
  EXPECT_EQ(sleeps, 2);
  EXPECT_EQ(status_of(client->enqueue({.queue = "q"})).code(), Code::unavailable);
}

TEST(LostAnswers, of_several_requests_those_after_a_failure_are_not_sent) {
  LossyWay lossy(0);
  const auto client = lossy.client(1);
  const std::vector<queue::NewJob> jobs = {{.queue = "a"}, {.queue = "b"}, {.queue = "c"}};
  lossy.left = 1;
  const auto ids = client->enqueue(jobs);
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(status_of(ids[0]).code(), Code::commit_unknown);
  EXPECT_EQ(status_of(ids[1]).code(), Code::unavailable);
  EXPECT_EQ(status_of(ids[2]).code(), Code::unavailable);
  EXPECT_EQ(lossy.requests, 1);
}

TEST(LostAnswers, a_service_that_is_busy_is_asked_again) {
  std::atomic<int> requests = 0;
  net::RawServer server([&](net::RawPeer& peer, unsigned) {
    while (!peer.request().empty())
      peer.send(++requests < 3 ? "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
                               : "HTTP/1.1 201 Ok\r\nContent-Length: 10\r\n\r\n{\"id\":\"a\"}");
  });
  const auto client = open_client({.url = server.url(""), .backoff = {.base = 1ms}});
  EXPECT_EQ(client->enqueue({.queue = "q"}).value(), "a");
  EXPECT_EQ(requests, 3);
}

TEST(LostAnswers, a_request_carries_token_and_key_below_the_path_of_the_url) {
  std::string first;
  std::string second;
  {
    net::RawServer server([&](net::RawPeer& peer, unsigned) {
      first = peer.request();
      peer.send("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n");
      second = peer.request();
      peer.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
      peer.wait_for_end();
    });
    const auto client =
        open_client({.url = server.url("/below//"), .token = "secret", .backoff = {.base = 1ms}});
    EXPECT_EQ(status_of(client->enqueue({.queue = "q"})).code(), Code::permission_denied);
  }
  EXPECT_TRUE(first.starts_with("POST /below/v1/queues/q/jobs HTTP/1.1\r\n")) << first;
  EXPECT_NE(first.find("\r\nAuthorization: Bearer secret\r\n"), std::string::npos);
  EXPECT_NE(first.find("\r\nIdempotency-Key: "), std::string::npos);
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace sluice::client
