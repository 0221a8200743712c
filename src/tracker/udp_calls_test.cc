// SPDX-License-Identifier: MIT
#include "tracker/udp_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tracker/endpoint_text.h"
#include "tracker/upstreams_testing.h"

namespace sluice::tracker {
namespace {

using namespace std::chrono_literals;

const Endpoint kFirst = *endpoint_of("192.0.2.1", 6969);
const Endpoint kSecond = *endpoint_of("2001:db8::1", 6969);

/// Keeps what is sent, and passes time only when it is told to.
class World final : public UdpOutside {
 public:
  explicit World(UdpCallsOptions options = {}) : calls(*this, random_, options) {}

  Status send(const UdpRoute& route, udp::Bytes packet) override {
    const Endpoint& to = route.to;
    sources.push_back(route.from);
    if (std::ranges::find(closed, to) != closed.end()) return error(Code::unavailable, "no way");
    const auto request = udp::read_request(packet);
    EXPECT_TRUE(request);
    if (const auto* connect = std::get_if<udp::ConnectRequest>(&*request))
      connects.push_back({to, connect->transaction});
    if (const auto* announce = std::get_if<udp::AnnounceRequest>(&*request))
      announces.push_back({to, announce->transaction, announce->connection, announce->claimed});
    return {};
  }
  void look_up(const UdpName& name) override { looked_up.push_back(name); }

  void add(const std::string& uri = "udp://192.0.2.1:6969", Duration timeout = 1000s) {
    calls.add({.request = request_to(uri), .done = results.add(), .deadline = now + timeout}, now);
  }
  void pass(Duration time) {
    for (const MonoTime end = now + time; now < end; now = std::min(end, now + 1s)) calls.look(now);
    calls.look(now);
  }
  template <class Answer>
  void take(const Endpoint& from, const Answer& answer) {
    std::array<std::uint8_t, udp::kAnswerBytesMax> room;
    const std::size_t bytes = udp::write(room, answer);
    calls.take(from, {room.data(), bytes}, now);
  }
  void give_id(std::uint64_t id, const Endpoint& from = kFirst) {
    take(from, udp::ConnectAnswer{connects.back().transaction, id});
  }
  void answer_last() {
    take(announces.back().to, udp::AnnounceAnswer{.transaction = announces.back().transaction});
  }
  void refuse_last() {
    take(announces.back().to,
         udp::ErrorAnswer{.transaction = announces.back().transaction, .text = "no\n"});
  }
  UpstreamResult last() { return results.all().back(); }

  struct Sent {
    Endpoint to;
    std::uint32_t transaction = 0;
    std::uint64_t id = 0;
    std::optional<Endpoint> claimed = {};
  };
  std::vector<Sent> connects;
  std::vector<Sent> announces;
  std::vector<UdpName> looked_up;
  std::vector<Endpoint> closed;
  std::vector<std::optional<Endpoint>> sources;
  Results results;
  MonoTime now = MonoTime(1000s);

 private:
  SeededRandom random_{7};

 public:
  UdpCalls calls;
};

TEST(UdpCalls, one_request_for_an_id_serves_all_that_wait) {
  World world;
  for (int i = 0; i < 100; ++i) world.add();
  EXPECT_EQ(world.connects.size(), 1u);
  EXPECT_TRUE(world.announces.empty());
  world.give_id(5);
  ASSERT_EQ(world.announces.size(), 100u);
  for (const auto& sent : world.announces) EXPECT_EQ(sent.id, 5u);
  for (const auto& sent : world.announces)
    world.take(kFirst, udp::AnnounceAnswer{.transaction = sent.transaction});
  EXPECT_EQ(world.results.count(), 100u);
  EXPECT_EQ(world.calls.size(), 0u);
  EXPECT_EQ(world.calls.next(), MonoTime::max());
}

TEST(UdpCalls, an_id_is_used_for_its_life_and_not_longer) {
  World world;
  world.add();
  world.give_id(5);
  world.answer_last();
  world.now += 60s - 1ns;
  world.add();
  EXPECT_EQ(world.connects.size(), 1u);
  EXPECT_EQ(world.announces.size(), 2u);
  world.now += 1ns;
  world.add();
  EXPECT_EQ(world.connects.size(), 2u);
  EXPECT_EQ(world.announces.size(), 2u);
}

TEST(UdpCalls, names_of_one_address_share_its_id) {
  World world;
  for (const char* name : {"a.test", "b.test"}) {
    world.add(std::string("udp://") + name + ":6969");
    world.calls.found({name, 6969}, std::vector{kFirst}, world.now);
  }
  EXPECT_EQ(world.connects.size(), 1u);
  world.give_id(5);
  EXPECT_EQ(world.announces.size(), 2u);
}

TEST(UdpCalls, an_id_belongs_to_the_address_that_it_was_asked_from) {
  World world;
  const auto add = [&](const std::string& bind) {
    UpstreamRequest request = request_to("udp://192.0.2.1:6969");
    request.upstream = std::make_shared<const UpstreamConfig>(
        UpstreamConfig{.uri = "udp://192.0.2.1:6969", .bind = bind});
    world.calls.add(
        {.request = request, .done = world.results.add(), .deadline = world.now + 1000s},
        world.now);
  };
  for (const std::string bind : {"", "198.51.100.1", "198.51.100.2"}) {
    add(bind);
    world.give_id(world.connects.size());
    EXPECT_EQ(world.announces.back().id, world.connects.size());
    EXPECT_EQ(world.sources.back(), bind.empty() ? std::nullopt : endpoint_of(bind, 0));
  }
  add("198.51.100.1");
  EXPECT_EQ(world.connects.size(), 3u);
  EXPECT_EQ(world.announces.back().id, 2u);
  EXPECT_EQ(world.sources.back(), endpoint_of("198.51.100.1", 0));
}

TEST(UdpCalls, what_is_not_answered_is_sent_again_after_twice_the_time) {
  World world({.id_life = 1000s});
  world.add();
  const auto sent_after = [&](const auto& sent, Duration time) {
    world.pass(time - 1ns);
    const std::size_t before = sent.size();
    world.pass(1ns);
    return sent.size() - before;
  };
  EXPECT_EQ(sent_after(world.connects, 15s), 1u);
  EXPECT_EQ(sent_after(world.connects, 30s), 1u);
  EXPECT_EQ(sent_after(world.connects, 60s), 1u);
  EXPECT_EQ(world.connects.size(), 4u);
  EXPECT_EQ(world.connects.front().transaction, world.connects.back().transaction);
  world.give_id(5);
  EXPECT_EQ(sent_after(world.announces, 15s), 1u);
  EXPECT_EQ(sent_after(world.announces, 30s), 1u);
  EXPECT_EQ(world.announces.size(), 3u);
  EXPECT_EQ(world.announces.front().transaction, world.announces.back().transaction);
  world.answer_last();
  EXPECT_EQ(world.last().outcome, UpstreamOutcome::ok);
  world.pass(500s);
  EXPECT_EQ(world.connects.size() + world.announces.size(), 7u);
}

TEST(UdpCalls, an_announce_is_not_sent_again_with_an_old_id) {
  World world;
  world.add();
  world.give_id(5);
  world.pass(105s);  // The third time would be now.
  EXPECT_EQ(world.announces.size(), 3u);
  EXPECT_EQ(world.connects.size(), 2u);
  world.give_id(6);
  EXPECT_EQ(world.announces.size(), 4u);
  EXPECT_EQ(world.announces.back().id, 6u);
  world.answer_last();
  EXPECT_EQ(world.last().outcome, UpstreamOutcome::ok);
}

TEST(UdpCalls, a_call_that_comes_late_asks_again_if_the_last_question_is_old) {
  World world;
  world.add();
  world.pass(45s);
  EXPECT_EQ(world.connects.size(), 3u);  // The next would be at 105 s.
  world.pass(15s - 1ns);
  world.add();
  EXPECT_EQ(world.connects.size(), 3u);
  world.pass(1ns);
  world.add();
  EXPECT_EQ(world.connects.size(), 4u);
  world.give_id(5);
  EXPECT_EQ(world.announces.size(), 3u);
}

TEST(UdpCalls, a_call_ends_with_its_time) {
  World world;
  world.add("udp://192.0.2.1:6969", 10s);
  EXPECT_EQ(world.calls.next(), world.now + 10s);
  world.pass(10s - 1ns);
  EXPECT_EQ(world.results.count(), 0u);
  world.pass(1ns);
  ASSERT_EQ(world.results.count(), 1u);
  EXPECT_EQ(world.last().outcome, UpstreamOutcome::unreachable);
  EXPECT_EQ(world.last().reason, "no answer from 192.0.2.1:6969 in time");
  world.give_id(5);
  world.add("udp://192.0.2.1:6969", 0s);
  EXPECT_EQ(world.results.count(), 2u);
  EXPECT_EQ(world.calls.size(), 0u);
}

TEST(UdpCalls, an_id_that_nobody_waits_for_is_not_taken) {
  World world;
  world.add("udp://192.0.2.1:6969", 10s);
  const auto late = world.connects.back();
  world.pass(10s);
  world.take(kFirst, udp::ConnectAnswer{late.transaction, 5});
  world.add("udp://192.0.2.1:6969", 10s);
  EXPECT_EQ(world.connects.size(), 2u);
  world.pass(10s);
  world.add("udp://192.0.2.2:6969");  // The first is forgotten now.
  EXPECT_EQ(world.calls.remembered(), 1u);
  world.take(kFirst, udp::ConnectAnswer{world.connects.at(1).transaction, 5});
  EXPECT_TRUE(world.announces.empty());
}

TEST(UdpCalls, an_answer_must_fit_its_request) {
  World world;
  world.add();
  const std::uint32_t question = world.connects.back().transaction;
  const Endpoint other_port = *endpoint_of("192.0.2.1", 6970);
  world.take(kFirst, udp::ConnectAnswer{question + 1, 1});
  world.take(other_port, udp::ConnectAnswer{question, 2});
  world.take(kSecond, udp::ConnectAnswer{question, 3});
  world.take(kFirst, udp::AnnounceAnswer{.transaction = question});
  EXPECT_TRUE(world.announces.empty());
  world.give_id(5);
  world.give_id(6);
  ASSERT_EQ(world.announces.size(), 1u);
  EXPECT_EQ(world.announces.back().id, 5u);
  const std::uint32_t announce = world.announces.back().transaction;
  world.take(kFirst, udp::AnnounceAnswer{.transaction = announce + 1});
  world.take(other_port, udp::AnnounceAnswer{.transaction = announce});
  world.take(kFirst, udp::ConnectAnswer{announce, 9});
  world.take(kFirst, udp::ScrapeAnswer{.transaction = announce});
  world.take(other_port, udp::ErrorAnswer{.transaction = announce});
  EXPECT_EQ(world.results.count(), 0u);
  EXPECT_EQ(world.connects.size(), 1u);
  world.answer_last();
  world.answer_last();
  EXPECT_EQ(world.results.count(), 1u);
}

TEST(UdpCalls, packets_of_any_length_are_harmless) {
  World world;
  world.add();
  world.give_id(5);
  std::array<std::uint8_t, 64> packet{};
  for (std::uint8_t action = 0; action < 5; ++action)
    for (std::size_t bytes = 0; bytes < packet.size(); ++bytes) {
      packet[3] = action;
      world.calls.take(kFirst, udp::Bytes(packet).first(bytes), world.now);
    }
  EXPECT_EQ(world.calls.size(), 1u);
}

TEST(UdpCalls, an_error_makes_a_call_connect_anew_once) {
  World world;
  world.add();
  world.give_id(5);
  world.refuse_last();
  EXPECT_EQ(world.results.count(), 0u);
  ASSERT_EQ(world.connects.size(), 2u);
  world.give_id(6);
  EXPECT_EQ(world.announces.back().id, 6u);
  EXPECT_NE(world.announces.front().transaction, world.announces.back().transaction);
  world.refuse_last();
  ASSERT_EQ(world.results.count(), 1u);
  EXPECT_EQ(world.last().outcome, UpstreamOutcome::refused);
  EXPECT_EQ(world.last().reason, "no");
  EXPECT_EQ(world.connects.size(), 2u);
}

TEST(UdpCalls, errors_of_many_calls_cost_one_new_id) {
  World world;
  for (int i = 0; i < 10; ++i) world.add();
  world.give_id(5);
  const auto sent = world.announces;
  for (std::size_t i = 0; i < 5; ++i)
    world.take(kFirst, udp::ErrorAnswer{.transaction = sent.at(i).transaction});
  world.give_id(6);
  for (std::size_t i = 5; i < 10; ++i)
    world.take(kFirst, udp::ErrorAnswer{.transaction = sent.at(i).transaction});
  EXPECT_EQ(world.connects.size(), 2u);
  EXPECT_EQ(world.announces.size(), 20u);
  EXPECT_EQ(world.announces.back().id, 6u);
}

TEST(UdpCalls, who_gives_no_id_is_unreachable) {
  World world;
  world.add();
  world.add();
  world.take(kFirst, udp::ErrorAnswer{.transaction = world.connects.back().transaction,
                                      .text = std::string_view("shut\0", 5)});
  ASSERT_EQ(world.results.count(), 2u);
  EXPECT_EQ(world.last().outcome, UpstreamOutcome::unreachable);
  EXPECT_EQ(world.last().reason, "shut");
}

TEST(UdpCalls, names_are_looked_up_once_and_kept) {
  World world;
  world.add("udp://A.test:6969");
  world.add("udp://a.test:6969/announce");
  EXPECT_EQ(world.looked_up, (std::vector<UdpName>{{"a.test", 6969}}));
  world.calls.found({"a.test", 6969}, std::vector{kFirst, kSecond}, world.now);
  EXPECT_EQ(world.connects.size(), 1u);
  world.now += 5min - 1ns;
  world.add("udp://a.test:6969");
  EXPECT_EQ(world.looked_up.size(), 1u);
  world.now += 1ns;
  world.add("udp://a.test:6969");
  EXPECT_EQ(world.looked_up.size(), 2u);
  world.add("udp://a.test");
  EXPECT_EQ(world.looked_up.back(), (UdpName{"a.test", 80}));
}

TEST(UdpCalls, a_name_without_an_address_is_not_looked_up_again_for_a_while) {
  for (const bool fails : {false, true}) {
    World world;
    const Result<std::vector<Endpoint>> nothing =
        fails ? Result<std::vector<Endpoint>>(error(Code::unavailable, "a.test has no address"))
              : std::vector<Endpoint>();
    world.add("udp://a.test:6969");
    world.calls.found({"a.test", 6969}, nothing, world.now);
    EXPECT_EQ(world.last().outcome, UpstreamOutcome::unreachable);
    EXPECT_EQ(world.last().reason, "a.test has no address");
    world.now += 30s - 1ns;
    world.add("udp://a.test:6969");
    EXPECT_EQ(world.results.count(), 2u);
    world.now += 1ns;
    world.add("udp://a.test:6969");
    EXPECT_EQ(world.results.count(), 2u);
    EXPECT_EQ(world.looked_up.size(), 2u);
  }
}

TEST(UdpCalls, a_name_that_is_found_too_late_is_of_use_to_the_next) {
  World world;
  world.add("udp://a.test:6969", 10s);
  world.pass(10s);
  EXPECT_EQ(world.last().reason, "the address of a.test:6969 was not found in time");
  world.calls.found({"a.test", 6969}, std::vector{kFirst}, world.now);
  EXPECT_TRUE(world.connects.empty());
  world.add("udp://a.test:6969");
  EXPECT_EQ(world.connects.size(), 1u);
  EXPECT_EQ(world.looked_up.size(), 1u);
}

TEST(UdpCalls, an_address_that_nothing_can_be_sent_to_makes_way_for_the_next) {
  World world;
  world.closed = {kSecond};
  for (int i = 0; i < 3; ++i) world.add("udp://a.test:6969");
  world.calls.found({"a.test", 6969}, std::vector{kSecond, kFirst}, world.now);
  ASSERT_EQ(world.connects.size(), 1u);
  EXPECT_EQ(world.connects.back().to, kFirst);
  world.give_id(5);
  EXPECT_EQ(world.announces.size(), 3u);
  world.closed = {kFirst, kSecond};
  world.add("udp://a.test:6969");
  ASSERT_EQ(world.results.count(), 1u);
  EXPECT_EQ(world.last().reason, "no way");
  world.add("udp://192.0.2.1:6969");
  EXPECT_EQ(world.results.count(), 2u);
}

TEST(UdpCalls, an_address_that_gives_no_id_in_time_makes_way_for_the_next) {
  World world;
  world.add("udp://a.test:6969", 10s);
  world.add("udp://a.test:6969", 10s);
  world.calls.found({"a.test", 6969}, std::vector{kSecond, kFirst}, world.now);
  world.pass(10s);
  EXPECT_EQ(world.results.count(), 2u);
  world.add("udp://a.test:6969", 10s);
  EXPECT_EQ(world.connects.back().to, kFirst);
  world.give_id(5);
  world.pass(10s);  // It gave one, so it is there.
  EXPECT_EQ(world.results.count(), 3u);
  world.add("udp://a.test:6969");
  EXPECT_EQ(world.connects.back().to, kFirst);
}

TEST(UdpCalls, an_id_that_was_of_no_use_is_not_used_again) {
  World world;
  world.add("udp://192.0.2.1:6969", 10s);
  world.give_id(5);
  world.pass(9s);
  world.add("udp://192.0.2.1:6969", 10s);
  EXPECT_EQ(world.connects.size(), 1u);
  world.pass(1s);
  world.add();
  EXPECT_EQ(world.connects.size(), 2u);
  world.give_id(6);
  world.pass(9s);  // The second call does not drop what is not its own.
  EXPECT_EQ(world.results.count(), 2u);
  world.add();
  EXPECT_EQ(world.connects.size(), 2u);
}

TEST(UdpCalls, what_an_answer_says_is_passed_on) {
  World world;
  world.add();
  world.give_id(5);
  const std::string good("\1\2\3\4\0\5", 6);
  const std::string peers = good + std::string("\6\7\x8\x9\0\0\0\0\0\0\1\1", 12) + good;
  world.take(kFirst, udp::AnnounceAnswer{.transaction = world.announces.back().transaction,
                                         .interval = 900s,
                                         .peers = peers});
  EXPECT_EQ(world.last().interval, 900s);
  EXPECT_FALSE(world.last().min_interval);
  EXPECT_EQ(world.last().peers.v4, good + good);
  EXPECT_TRUE(world.last().peers.v6.empty());
  world.add();
  world.answer_last();
  EXPECT_FALSE(world.last().interval);
}

TEST(UdpCalls, an_address_to_be_known_by_is_told_between_addresses_of_ipv4) {
  World world;
  const auto claimed = [&](const std::string& host, const std::string& ip) {
    auto request = request_to("");
    request.upstream = std::make_shared<const UpstreamConfig>(
        UpstreamConfig{.uri = "udp://" + host + ":6969", .ip = ip});
    world.calls.add({.request = request, .done = world.results.add(), .deadline = world.now + 10s},
                    world.now);
    world.give_id(5, world.connects.back().to);
    return world.announces.back().claimed;
  };
  EXPECT_EQ(claimed("192.0.2.1", "192.0.2.9"), endpoint_of("192.0.2.9", 6881));
  EXPECT_FALSE(claimed("192.0.2.1", ""));
  EXPECT_FALSE(claimed("192.0.2.1", "2001:db8::9"));
  EXPECT_FALSE(claimed("[2001:db8::1]", "192.0.2.9"));
  EXPECT_EQ(world.results.count(), 0u);
  auto wrong = request_to("");
  wrong.upstream = std::make_shared<const UpstreamConfig>(
      UpstreamConfig{.uri = "udp://192.0.2.1:6969", .ip = "here"});
  world.calls.add({.request = wrong, .done = world.results.add(), .deadline = world.now + 10s},
                  world.now);
  EXPECT_EQ(world.last().reason, "its ip is no address");
}

TEST(UdpCalls, upstreams_that_cannot_be_told_are_unreachable) {
  World world;
  // Eight pieces, with two bytes before each, and the slash.
  const std::string longest(udp::kRequestBytesMax - udp::kAnnounceRequestBytes - 8 * 2 - 1, 'x');
  world.add("udp://192.0.2.1:6969/" + longest);
  EXPECT_EQ(world.results.count(), 0u);
  std::size_t count = 0;
  for (const std::string& uri : {"udp://192.0.2.1:6969/" + longest + "x", std::string("udp://"),
                                 std::string("http://192.0.2.1/"), std::string("udp"),
                                 std::string("udp://a:0/"), std::string("udp://user@a:1/")}) {
    world.add(uri);
    EXPECT_EQ(world.results.count(), ++count) << uri;
    EXPECT_EQ(world.last().outcome, UpstreamOutcome::unreachable);
  }
}

TEST(UdpCalls, the_end_ends_all_calls) {
  World world;
  world.add("udp://a.test:6969");
  world.add("udp://192.0.2.1:6969");
  world.add("udp://192.0.2.2:6969");
  world.take(*endpoint_of("192.0.2.2", 6969),
             udp::ConnectAnswer{world.connects.back().transaction, 5});
  EXPECT_EQ(world.announces.size(), 1u);
  world.calls.end();
  EXPECT_EQ(world.results.count(), 3u);
  EXPECT_EQ(world.calls.next(), MonoTime::max());
}

TEST(UdpCalls, what_is_of_no_use_is_forgotten) {
  World world;
  for (unsigned i = 0; i < 250; ++i) {
    const std::string name = "a" + std::to_string(i) + ".test";
    world.add("udp://" + name + ":6969", 10s);
    const auto byte = static_cast<std::uint8_t>(i);
    world.calls.found({name, 6969}, std::vector{Endpoint{.address = {byte}, .port = 1}}, world.now);
    world.pass(10min);
  }
  EXPECT_LE(world.calls.remembered(), 4u);
}

}  // namespace
}  // namespace sluice::tracker
