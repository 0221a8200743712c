// SPDX-License-Identifier: MIT
#include "tracker/service.h"

#include <gtest/gtest.h>

#include <functional>

#include "tracker/service_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;
using testing::announce_of;
using testing::Asked;
using testing::Caught;
using testing::HeldTransport;

/// Something happens just before it is read for the nth time, until it is calm.
class BusyClock final : public Clock {
 public:
  BusyClock(int reading, std::function<void()> happens)
      : left_(reading), happens_(std::move(happens)) {}
  MonoTime mono() const override {
    if (--left_ == 0) happens_();
    return clock_.mono();
  }
  WallTime wall() const override { return clock_.wall(); }
  void sleep_for(Duration duration, std::stop_token stop) const override {
    clock_.sleep_for(duration, stop);
  }
  bool happened() const { return left_ <= 0; }
  void calm_down() {
    happens_ = [] {};
  }

 private:
  ManualClock clock_;
  mutable int left_;
  std::function<void()> happens_;
};

struct Bench {
  explicit Bench(ServiceOptions options = {}, std::vector<UpstreamConfig> upstreams = {},
                 const Clock* service_clock = nullptr)
      : forwarder({}, {.clock = &clock,
                       .random = &random,
                       .transport = &transport,
                       .on_peers = [this](const InfoHash& hash) { service.release(hash); },
                       .on_quiet = [this](const InfoHash& hash) { service.release(hash); }}),
        service(swarms, &forwarder, std::move(options),
                {.clock = service_clock != nullptr ? service_clock : &clock, .random = &random}) {
    EXPECT_TRUE(forwarder.reload(upstreams).ok());
  }

  std::shared_ptr<Caught> send(const Asked& asked) {
    auto caught = std::make_shared<Caught>(
        "GET " + asked.target + " HTTP/1.1\r\nHost: x\r\n" + asked.headers + "\r\n", asked.peer);
    if (asked.target.find("/scrape") == 0)
      service.scrape(net::Exchange(caught));
    else
      service.announce(net::Exchange(caught));
    forwarder.run_due();
    return caught;
  }
  std::string ask(const Asked& asked) {
    const auto caught = send(asked);
    return caught->answered() ? caught->response().body : "nothing";
  }

  ManualClock clock;
  SeededRandom random{1};
  HeldTransport transport;
  Swarms swarms{{}, random};
  Forwarder forwarder;
  Service service;
};

std::vector<UpstreamConfig> one_upstream() {
  return {{.name = "up", .uri = "http://up.example/announce"}};
}

std::vector<UpstreamConfig> two_upstreams() {
  return {{.name = "up", .uri = "http://up.example/announce"},
          {.name = "other", .uri = "http://other.example/announce"}};
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(TrackerService, neighbours_find_each_other) {
  Bench bench;
  const std::string first = bench.ask({announce_of('a', 1000)});
  EXPECT_EQ(first,
            std::string("d8:completei0e10:downloadedi0e11:external ip4:\xC0\x00\x02\x01", 50) +
                "10:incompletei1e8:intervali1800e12:min intervali1800e5:peers0:e");
  const std::string second = bench.ask({announce_of('b', 2000), "192.0.2.2"});
  EXPECT_TRUE(has(second, std::string("5:peers6:\xC0\x00\x02\x01\x03\xE8", 15))) << second;
  EXPECT_TRUE(has(second, "10:incompletei2e"));
}

TEST(TrackerService, the_long_form_has_ids_unless_they_are_not_wanted) {
  Bench bench;
  bench.ask({announce_of('a', 1000)});
  EXPECT_TRUE(has(bench.ask({announce_of('b', 2, "&compact=0"), "192.0.2.2"}),
                  "5:peersld2:ip9:192.0.2.17:peer id20:aaaaaaaaaaaaaaaaaaaa4:porti1000eee"));
  EXPECT_TRUE(has(bench.ask({announce_of('b', 2, "&compact=0&no_peer_id=1"), "192.0.2.2"}),
                  "5:peersld2:ip9:192.0.2.14:porti1000eee"));
}

TEST(TrackerService, both_families_are_told_over_http) {
  Bench bench;
  bench.ask({announce_of('a', 1000)});
  const std::string six = bench.ask({announce_of('b', 2000), "2001:db8::1"});
  EXPECT_TRUE(has(six, "5:peers6:"));
  EXPECT_TRUE(has(bench.ask({announce_of('c', 3000), "192.0.2.3"}), "6:peers618:"));
}

TEST(TrackerService, a_proxy_is_believed_only_if_it_is_trusted) {
  Bench bench({.proxies = *AddressList::parse({"10.0.0.0/8"})});
  const std::string real = "X-Real-IP: 198.51.100.7\r\n";
  EXPECT_TRUE(
      has(bench.ask({announce_of('a', 1), "10.1.2.3", real}), "external ip4:\xC6\x33\x64\x07"));
  EXPECT_FALSE(
      has(bench.ask({announce_of('a', 1), "192.0.2.1", real}), "external ip4:\xC6\x33\x64\x07"));
  EXPECT_TRUE(has(bench.ask({announce_of('a', 1), "unix", real}), "external ip4:\xC6\x33\x64\x07"));
  EXPECT_TRUE(has(bench.ask({announce_of('a', 1), "10.1.2.3",
                             "X-Forwarded-For: 203.0.113.9, 198.51.100.7\r\n"}),
                  "external ip4:\xC6\x33\x64\x07"));
  EXPECT_TRUE(has(bench.ask({announce_of('a', 1), "unix"}), "failure reason"));
}

TEST(TrackerService, a_named_address_is_believed_of_neighbours_only) {
  Bench bench;
  const std::string named = announce_of('a', 1, "&ip=198.51.100.7");
  EXPECT_TRUE(has(bench.ask({named, "192.168.1.1"}), "external ip4:\xC6\x33\x64\x07"));
  EXPECT_FALSE(has(bench.ask({named, "8.8.8.8"}), "external ip4:\xC6\x33\x64\x07"));
  Bench wary({.believes_local = false});
  EXPECT_FALSE(has(wary.ask({named, "192.168.1.1"}), "external ip4:\xC6\x33\x64\x07"));
}

TEST(TrackerService, what_is_wrong_is_told_as_a_failure_with_status_200) {
  Bench bench;
  const auto caught = bench.send({"/announce?info_hash=short"});
  EXPECT_EQ(caught->response().status, 200u);
  EXPECT_TRUE(has(caught->response().body, "14:failure reason"));
  EXPECT_EQ(bench.service.stats().refused, 1u);
}

TEST(TrackerService, a_torrent_that_is_not_served_is_refused_and_not_scraped) {
  Bench bench;
  bench.ask({announce_of('a', 1000)});
  const std::string scrape = "/scrape?info_hash=" + std::string(20, 'h');
  EXPECT_TRUE(has(bench.ask({scrape}), "10:incompletei1e"));
  const auto list = HashList::parse(std::string(40, '6') + "\n", "list");
  bench.service.set_access(HashAccess::allow(*list));
  EXPECT_TRUE(has(bench.ask({announce_of('b', 1000)}), "not served"));
  EXPECT_EQ(bench.ask({scrape}), "d5:filesdee");
  bench.service.set_access(HashAccess::deny(*list));
  EXPECT_TRUE(has(bench.ask({scrape}), "10:incompletei1e"));
}

TEST(TrackerService, the_first_reply_waits_for_an_upstream) {
  Bench bench({}, one_upstream());
  const auto first = bench.send({announce_of('a', 1000)});
  EXPECT_FALSE(first->answered());
  ASSERT_EQ(bench.transport.size(), 1u);
  PeerList theirs;
  append_compact(theirs, *endpoint_of("203.0.113.5", 80));
  bench.transport.answer({.outcome = UpstreamOutcome::ok, .interval = 1800s, .peers = theirs});
  ASSERT_TRUE(first->answered());
  EXPECT_TRUE(has(first->response().body, std::string("5:peers6:\xCB\x00\x71\x05\x00\x50", 15)));
  EXPECT_TRUE(has(first->response().body, "8:intervali1800e"));
  EXPECT_EQ(bench.service.stats().waited, 1u);
}

/// An upstream that answers between any two readings of the clock is not missed. How often it did
/// before the client had its answer.
int answer_at_any_moment(const PeerList& theirs, const char* expected) {
  int reading = 0;
  int times = 0;
  for (bool happened = true; happened;) {
    std::function<void()> answer;
    bool answered = false;
    BusyClock busy(++reading, [&] { answer(); });
    Bench bench({}, one_upstream(), &busy);
    answer = [&] {
      bench.forwarder.run_due();
      if (bench.transport.size() == 0) return;  // It has not been asked yet.
      bench.transport.answer({.outcome = UpstreamOutcome::ok, .interval = 1800s, .peers = theirs});
      answered = true;
    };
    const auto first = bench.send({announce_of('a', 1000)});
    happened = busy.happened();
    busy.calm_down();
    EXPECT_EQ(first->answered(), answered) << reading;
    times += answered ? 1 : 0;
    if (first->answered()) {
      EXPECT_TRUE(has(first->response().body, expected)) << reading;
    }
  }
  return times;
}

TEST(TrackerService, an_upstream_that_answers_at_once_is_not_missed) {
  PeerList theirs;
  append_compact(theirs, *endpoint_of("203.0.113.5", 80));
  EXPECT_GE(answer_at_any_moment(theirs, "5:peers6:"), 1);
  EXPECT_GE(answer_at_any_moment({}, "5:peers0:"), 1);
}

TEST(TrackerService, the_first_reply_waits_for_nobody_who_has_answered) {
  Bench bench({}, two_upstreams());
  const auto first = bench.send({announce_of('a', 1000)});
  ASSERT_EQ(bench.transport.size(), 2u);
  bench.transport.answer({.outcome = UpstreamOutcome::ok, .interval = 1800s});
  EXPECT_FALSE(first->answered()) << "the other may know somebody";
  bench.transport.answer({.outcome = UpstreamOutcome::unreachable, .reason = "reset"});
  ASSERT_TRUE(first->answered());
  EXPECT_TRUE(has(first->response().body, "5:peers0:"));
  EXPECT_TRUE(has(first->response().body, "8:intervali60e")) << "one is tried again";
  EXPECT_EQ(bench.service.run_due(), MonoTime::max());
}

TEST(TrackerService, the_first_reply_does_not_wait_for_upstreams_that_rest) {
  Bench bench({}, one_upstream());
  bench.send({announce_of('a', 1000)});
  bench.transport.answer({.outcome = UpstreamOutcome::busy, .reason = "429"});
  EXPECT_TRUE(bench.send({announce_of('b', 2000, "", 'i'), "192.0.2.2"})->answered());
  EXPECT_EQ(bench.service.stats().waited, 1u);
}

TEST(TrackerService, whoever_waits_for_a_line_that_is_put_off_is_answered) {
  Bench bench({}, one_upstream());
  std::vector<std::shared_ptr<Caught>> waiting;
  for (char hash = 'a'; hash <= 'h'; ++hash)
    waiting.push_back(bench.send({announce_of('p', 1000, "", hash)}));
  ASSERT_EQ(bench.transport.size(), 4u) << "an upstream that has not answered yet";
  bench.transport.answer({.outcome = UpstreamOutcome::busy, .reason = "429"});
  for (std::size_t i = 0; i < waiting.size(); ++i)
    EXPECT_EQ(waiting[i]->answered(), i == 0 || i >= 4) << i;
}

TEST(TrackerService, it_waits_no_longer_than_it_may_and_asks_to_come_back_soon) {
  Bench bench({}, one_upstream());
  const auto first = bench.send({announce_of('a', 1000)});
  const MonoTime until = bench.service.run_due();
  EXPECT_EQ(until, bench.clock.mono() + 300ms);
  bench.clock.advance(300ms - 1ns);
  bench.service.run_due();
  EXPECT_FALSE(first->answered());
  bench.clock.advance(1ns);
  EXPECT_EQ(bench.service.run_due(), MonoTime::max());
  ASSERT_TRUE(first->answered());
  EXPECT_TRUE(has(first->response().body, "8:intervali60e"));
  EXPECT_TRUE(has(first->response().body, "5:peers0:"));
}

TEST(TrackerService, the_time_to_every_answer_is_measured_with_the_wait) {
  Bench bench({}, one_upstream());
  bench.send({"/announce?info_hash=short"});
  EXPECT_EQ(bench.service.times().http.count(), 1u);
  bench.send({announce_of('a', 1000)});
  EXPECT_EQ(bench.service.times().http.count(), 1u) << "it waits";
  bench.clock.advance(300ms);
  bench.service.run_due();
  EXPECT_EQ(bench.service.times().http.count(), 2u);
  EXPECT_EQ(bench.service.times().http.sum(), 300'000'000u);
  bench.send({announce_of('b', 2000), "192.0.2.2"});
  EXPECT_EQ(bench.service.times().http.count(), bench.service.stats().announces_http);
  EXPECT_EQ(bench.service.times().http.sum(), 300'000'000u);
  EXPECT_EQ(bench.service.times().udp.count(), 0u);
}

TEST(TrackerService, nobody_waits_who_has_neighbours_or_needs_nobody) {
  Bench bench({}, one_upstream());
  bench.send({announce_of('a', 1000)});
  EXPECT_TRUE(bench.send({announce_of('b', 2000), "192.0.2.2"})->answered());
  Bench other({}, one_upstream());
  EXPECT_TRUE(other.send({announce_of('a', 1000, "&numwant=0")})->answered());
  EXPECT_TRUE(other.send({announce_of('a', 1000, "&event=stopped")})->answered());
  Bench alone;
  EXPECT_TRUE(alone.send({announce_of('a', 1000)})->answered());
  Bench hasty({.first_reply_wait = {}}, one_upstream());
  EXPECT_TRUE(hasty.send({announce_of('a', 1000)})->answered());
}

TEST(TrackerService, as_many_peers_are_told_as_are_wanted_and_allowed) {
  Bench bench;
  for (unsigned port = 1; port <= 300; ++port) bench.ask({announce_of('a', port)});
  struct Row {
    const char* wanted;
    std::size_t told;
  };
  for (const Row& row :
       {Row{"", 50}, Row{"&numwant=0", 0}, Row{"&numwant=-1", 50}, Row{"&numwant=1", 1},
        Row{"&numwant=200", 200}, Row{"&numwant=201", 200}, Row{"&numwant=500", 200}}) {
    const std::string begin = "5:peers" + std::to_string(row.told * kCompactBytes4) + ":";
    EXPECT_TRUE(has(bench.ask({announce_of('b', 9999, row.wanted), "192.0.2.2"}), begin))
        << row.wanted;
  }
}

TEST(TrackerService, peers_of_upstreams_are_merged_without_the_requester_and_twins) {
  Bench bench({.first_reply_wait = {}}, one_upstream());
  bench.ask({announce_of('a', 1000)});
  PeerList theirs;
  for (const char* address : {"192.0.2.1", "192.0.2.2", "203.0.113.5"})
    append_compact(theirs, *endpoint_of(address, 1000));
  bench.transport.answer({.outcome = UpstreamOutcome::ok, .interval = 1800s, .peers = theirs});
  const std::string answer = bench.ask({announce_of('b', 1000), "192.0.2.2"});
  EXPECT_TRUE(has(answer, "5:peers12:")) << answer;
  EXPECT_TRUE(has(answer, std::string("\xC0\x00\x02\x01\x03\xE8", 6)));
  EXPECT_TRUE(has(answer, std::string("\xCB\x00\x71\x05\x03\xE8", 6)));
  EXPECT_TRUE(has(bench.ask({announce_of('b', 1000, "&numwant=1"), "192.0.2.2"}), "5:peers6:"));
}

}  // namespace
}  // namespace sluice::tracker
