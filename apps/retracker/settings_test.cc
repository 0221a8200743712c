// SPDX-License-Identifier: MIT
#include "retracker/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/temp_dir.h"

namespace sluice::cli {
namespace {

using namespace std::chrono_literals;
using Variables = std::map<std::string, std::string>;

Lookup lookup(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  };
}

struct Home {
  test::TempDir dir;
  std::string path() const { return dir / "retracker.yaml"; }
  std::string file(const std::string& text) const {
    test::write_file(path(), text);
    return path();
  }
};

Result<EffectiveSettings> with_file(const Home& home, const std::string& text) {
  return read_settings({.config = home.file(text), .environment = lookup({})});
}

/// A user is refused without a password.
Variables needed_by(const std::string& name) {
  if (name != "stats_user") return {};
  return {{"RETRACKER_STATS_PASSWORD", "p"}};
}

Result<EffectiveSettings> with(const std::string& name, const std::string& value) {
  return read_settings({.options = {{.name = name, .value = value, .where = "--set"}},
                        .environment = lookup(needed_by(name))});
}

std::string shown(const EffectiveSettings& effective, std::string_view name) {
  const auto setting = std::ranges::find(all_settings(), name, &Setting::name);
  return setting->show(effective.settings);
}

std::string origin(const EffectiveSettings& effective, std::string_view name) {
  const auto at = std::ranges::find(all_settings(), name, &Setting::name) - all_settings().begin();
  return effective.origins[static_cast<std::size_t>(at)];
}

/// Three values of a setting, none of which is its default.
std::vector<std::string> values_of(const Setting& setting) {
  if (setting.value == "ADDR") return {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"};
  if (setting.name == "announce_mode") return {"hash", "peer", "hash"};
  if (setting.shape == Shape::list) return {"10.0.0.0/8", "10.0.0.0/9", "::1"};
  if (setting.name == "max_forwarder_workers") return {"2001", "2002", "2003"};
  if (setting.shape == Shape::number) return {"31", "32", "33"};
  if (setting.shape == Shape::text) return {"a", "b", "c"};
  const bool on = setting.standard == "true";
  return {on ? "false" : "true", on ? "true" : "false", on ? "false" : "true"};
}

struct Edge {
  std::string name;
  std::vector<std::string> fine;
  std::vector<std::string> wrong;
};

const std::vector<Edge>& edges() {
  static const std::vector<std::string> kBools = {"true", "false", "yes", "NO",
                                                  "On",   "off",   "1",   "0"};
  static const std::vector<std::string> kNoBools = {"", "2", "maybe", "truee"};
  static const std::vector<Edge> edges = {
      {"listen",
       {":0", ":6969", ":65535", "0.0.0.0:1", "127.0.0.1:0", "[::]:1", "[::1]:6969",
        "localhost:80"},
       {"", ":", ":65536", ":-1", "6969", "127.0.0.1", "::1:6969", "here:1", "unix:/x",
        std::string("127.0.0.1\0x:1", 13)}},
      {"udp_listen", {"", ":6969", "[::1]:0"}, {":", ":65536", "here:1", "unix:/x"}},
      {"threads", {"0", "1024"}, {"", "1025", "-1", "1.5", " 1", "two"}},
      {"age",
       {"0.1", "0.51157", "180", "180.5", "525600"},
       {"", "0", "0.09", "525600.1", "-1", "nan", "1h"}},
      {"announce_interval", {"0", "1", "604800"}, {"", "604801", "-1"}},
      {"retry_period", {"0", "1", "604800"}, {"604801", "-1"}},
      {"tracker_id", {"", std::string(255, 'x')}, {std::string(256, 'x')}},
      {"wanted_max", {"1", "5000"}, {"0", "5001"}},
      {"first_reply_wait_ms", {"0", "10000"}, {"10001", "-1"}},
      {"stats_interval", {"0", "604800"}, {"604801"}},
      {"stats_user", {"", "me", std::string(255, 'x')}, {"a:b", "a\nb", std::string(256, 'x')}},
      {"stats_password", {"", "a:b c", std::string(255, 'x')}, {"a\x7f", std::string(256, 'x')}},
      {"trusted_proxies", {"", "::1", "10.0.0.0/8,::1", "10.0.0.0/8 ::1"}, {"10.0.0.0/33", "x"}},
      {"snapshot_interval", {"0", "604800"}, {"604801"}},
      {"announce_mode", {"peer", "hash"}, {"", "Peer", "both"}},
      {"forward_timeout", {"1", "600"}, {"0", "601"}},
      {"forwarder_workers", {"0", "1", "100000"}, {"100001", "-1"}},
      {"max_forwarder_workers", {"0", "100000"}, {"100001", "-1"}},
      {"in_flight_per_upstream", {"1", "100000"}, {"0", "100001"}},
      {"forwarder_queue_size", {"0", "10000000"}, {"10000001", "-1"}},
      {"queue_scale_threshold_pct", {"0", "100"}, {"101"}},
      {"queue_rate_limit_threshold", {"0", "100"}, {"101"}},
      {"queue_throttle_threshold", {"0", "100"}, {"101"}},
      {"queue_throttle_top_n", {"0", "100000"}, {"100001"}},
      {"max_forwarders_per_announce", {"0", "100000"}, {"100001"}},
      {"rate_limit_initial_per_sec", {"0", "1000000"}, {"1000001"}},
      {"rate_limit_initial_burst", {"0", "1000000"}, {"1000001"}},
      {"forwarder_suspend_seconds", {"1", "604800"}, {"0", "604801"}},
      {"forwarder_fail_threshold", {"0", "1000000"}, {"1000001"}},
      {"forwarder_retry_attempts", {"1", "100"}, {"0", "101"}},
      {"forwarder_retry_base_ms", {"1", "60000"}, {"0", "60001"}},
      {"debug", kBools, kNoBools},
      {"prometheus_enabled", kBools, kNoBools},
      {"refuse_when_full", kBools, kNoBools},
      {"x_real_ip", kBools, kNoBools},
      {"ip_from_private", kBools, kNoBools},
      {"forwarders_file", {"", "x"}, {}},
      {"hash_allow_file", {"", "x"}, {}},
      {"hash_deny_file", {"", "x"}, {}},
      {"snapshot_file", {"", "x"}, {}},
  };
  return edges;
}

TEST(Settings, nothing_has_to_be_set) {
  const auto read = read_settings({.environment = lookup({})});
  ASSERT_TRUE(read);
  const Settings& settings = read->settings;
  EXPECT_EQ(settings.listen, "[::]:6969");
  EXPECT_EQ(settings.udp_listen, "");
  EXPECT_EQ(settings.age, 180min);
  EXPECT_EQ(settings.announce_interval, 1800s);
  EXPECT_EQ(settings.first_reply_wait, 300ms);
  EXPECT_EQ(settings.forwarder_workers, 1024U);
  EXPECT_EQ(settings.max_forwarder_workers, 4096U);
  EXPECT_EQ(settings.forwarder_queue_size, 10'000);
  EXPECT_EQ(settings.queue_rate_limit_threshold, 80U);
  EXPECT_EQ(settings.announce_mode, tracker::AnnounceMode::peer);
  EXPECT_TRUE(settings.ip_from_private);
  EXPECT_TRUE(settings.proxies.empty());
  EXPECT_TRUE(read->warnings.empty());
  EXPECT_EQ(read->origins, std::vector<std::string>(all_settings().size(), "default"));
}

TEST(Settings, each_is_taken_from_option_then_environment_then_file_then_default) {
  const Home home;
  for (const Setting& setting : all_settings()) {
    const std::string name(setting.name);
    const auto values = values_of(setting);
    const std::string file = home.file(name + ": \"" + values[2] + "\"\n");
    const GivenSetting given{.name = name, .value = values[0], .where = "--set"};
    Variables variables = needed_by(name);
    const Lookup others = lookup(variables);
    variables[variable_of(name)] = values[1];

    const auto option =
        read_settings({.options = {given}, .config = file, .environment = lookup(variables)});
    const auto environment = read_settings({.config = file, .environment = lookup(variables)});
    const auto in_file = read_settings({.config = file, .environment = others});
    ASSERT_TRUE(option && environment && in_file) << name;
    EXPECT_EQ(shown(*option, name), values[0]) << name;
    EXPECT_EQ(shown(*environment, name), values[1]) << name;
    EXPECT_EQ(shown(*in_file, name), values[2]) << name;
    EXPECT_EQ(origin(*option, name), "--set");
    EXPECT_EQ(origin(*environment, name), "$" + variable_of(name));
    EXPECT_EQ(origin(*in_file, name), file + ":1");
  }
}

TEST(Settings, what_is_shown_is_understood_again) {
  for (const Edge& edge : edges())
    for (const std::string& value : edge.fine) {
      const auto once = with(edge.name, value);
      ASSERT_TRUE(once) << edge.name << " " << value;
      const auto twice = with(edge.name, shown(*once, edge.name));
      ASSERT_TRUE(twice) << edge.name << " " << value;
      EXPECT_EQ(shown(*twice, edge.name), shown(*once, edge.name));
    }
}

TEST(Settings, each_has_its_limits) {
  EXPECT_EQ(edges().size(), all_settings().size());
  for (const Edge& edge : edges())
    for (const std::string& value : edge.wrong) {
      const auto read = with(edge.name, value);
      ASSERT_FALSE(read) << edge.name << " " << value;
      EXPECT_EQ(read.error().code(), Code::invalid_argument);
      EXPECT_TRUE(read.error().message().starts_with("--set: " + edge.name + " \""))
          << read.error().message();
    }
}

TEST(Settings, a_wrong_value_that_something_stronger_replaces_does_no_harm) {
  const Home home;
  const std::string file = home.file("age: x\n");
  EXPECT_TRUE(read_settings({.config = file, .environment = lookup({{"RETRACKER_AGE", "5"}})}));
  const auto read = read_settings({.config = file, .environment = lookup({})});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), file + ":1: age \"x\": 0.1 to 525600 minutes is allowed");
}

TEST(Settings, the_file_is_named_by_option_or_else_by_environment) {
  const Home home;
  const Lookup environment = lookup({{"RETRACKER_CONFIG", home.file("threads: 3\n")}});
  EXPECT_EQ(read_settings({.environment = environment})->settings.threads, 3U);
  const auto other = read_settings({.config = "/nowhere/x", .environment = environment});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(), "/nowhere/x: it cannot be read");
}

TEST(Settings, unknown_names_in_the_file_are_warned_of) {
  const Home home;
  const auto read = with_file(home, "threads: 3\nlisen: x\n7: [1]\n");
  ASSERT_TRUE(read);
  const std::string path = home.path();
  EXPECT_EQ(read->warnings,
            (std::vector<std::string>{
                path + ":2: there is no setting \"lisen\": did you mean \"listen\"?",
                path + ":3: there is no setting \"7\""}));
  EXPECT_EQ(read->settings.threads, 3U);
}

TEST(Settings, a_file_may_say_nothing) {
  const Home home;
  for (const char* const text : {"", "# age: 1\n", "---\n", "{}\n", "age:\nudp_listen: ~\n"}) {
    const auto read = with_file(home, text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(origin(*read, "age"), "default") << text;
  }
}

TEST(Settings, a_file_that_is_none_is_refused_with_its_line) {
  const Home home;
  const std::string path = home.path();
  for (const auto& [text, message] : std::map<std::string, std::string>{
           {"- age\n", path + ": write one 'name: value' a line"},
           {"age\n", path + ": write one 'name: value' a line"},
           {"threads: 1\nage: [1]\n", path + ":2: age must be one value"},
           {"trusted_proxies: [[1]]\n", path + ":1: trusted_proxies must be one value"},
           {"trusted_proxies: {a: b}\n", path + ":1: trusted_proxies must be one value"}}) {
    const auto read = with_file(home, text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message(), message);
  }
  const auto broken = with_file(home, "age: 1\nthreads: [1\n");
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().message().starts_with(path + ":")) << broken.error().message();
  EXPECT_FALSE(read_settings({.config = home.dir.path(), .environment = lookup({})}));
}

TEST(Settings, names_may_have_dashes_and_the_last_of_two_counts) {
  const Home home;
  const auto read = with_file(home, "wanted-max: 7\nwanted_max: 8\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings.wanted_max, 8U);
  ASSERT_EQ(read->warnings.size(), 1U);
  EXPECT_TRUE(read->warnings[0].ends_with(":2: wanted_max is there twice; the last counts"));
}

TEST(Settings, an_option_may_be_there_once) {
  const auto read =
      read_settings({.options = {{"listen", ":1", "--listen"}, {"listen", ":2", "--set"}},
                     .environment = lookup({})});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), "--set: listen is there twice");
}

TEST(Settings, an_empty_option_turns_udp_off) {
  const auto read = read_settings({.options = {{"udp_listen", "", "--udp-listen"}},
                                   .environment = lookup({{"RETRACKER_UDP_LISTEN", ":1"}})});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings.udp_listen, "");
}

TEST(Settings, every_address_is_that_of_both_families) {
  EXPECT_EQ(with("listen", ":80")->settings.listen, "[::]:80");
  EXPECT_EQ(with("listen", "localhost:80")->settings.listen, "127.0.0.1:80");
  EXPECT_EQ(with("listen", "0.0.0.0:80")->settings.listen, "0.0.0.0:80");
  EXPECT_EQ(with("udp_listen", ":80")->settings.udp_listen, "[::]:80");
}

TEST(Settings, zero_stands_for_what_it_always_did) {
  EXPECT_EQ(with("announce_interval", "0")->settings.announce_interval, 1800s);
  EXPECT_EQ(with("retry_period", "0")->settings.retry_period, 300s);
  EXPECT_EQ(with("forwarder_queue_size", "0")->settings.forwarder_queue_size, 1000);
  EXPECT_EQ(with("max_forwarders_per_announce", "0")->settings.max_forwarders_per_announce, 100U);
  EXPECT_EQ(with("queue_rate_limit_threshold", "0")->settings.queue_rate_limit_threshold,
            kNeverPct);
  EXPECT_EQ(with("forwarder_fail_threshold", "0")->settings.forwarder_fail_threshold,
            kNeverFailures);
  EXPECT_EQ(with("stats_interval", "0")->settings.stats_interval, 0s);
  EXPECT_EQ(with("queue_throttle_top_n", "0")->settings.queue_throttle_top_n, 0U);
  EXPECT_EQ(shown(*with("forwarder_fail_threshold", "0"), "forwarder_fail_threshold"), "0");
}

TEST(Settings, workers_that_are_set_are_exactly_so_many) {
  const auto workers = [](std::vector<GivenSetting> options) {
    auto read = read_settings({.options = std::move(options), .environment = lookup({})});
    return std::pair(read->settings.forwarder_workers, read->settings.max_forwarder_workers);
  };
  const auto base = [](const char* n) { return GivenSetting{"forwarder_workers", n, "--set"}; };
  const auto max = [](const char* n) { return GivenSetting{"max_forwarder_workers", n, "--set"}; };
  EXPECT_EQ(workers({base("10"), max("20")}), std::pair(10U, 20U));
  EXPECT_EQ(workers({base("10")}), std::pair(10U, 20U));
  EXPECT_EQ(workers({base("10"), max("0")}), std::pair(10U, 20U));
  EXPECT_EQ(workers({base("5000")}), std::pair(5000U, 10'000U));
  EXPECT_EQ(workers({max("5000")}), std::pair(1024U, 5000U));
  EXPECT_EQ(workers({base("20"), max("20")}), std::pair(20U, 20U));
}

TEST(Settings, fewer_workers_at_most_than_always_are_warned_of) {
  const auto read = read_settings(
      {.options = {{"forwarder_workers", "20", "--set"}, {"max_forwarder_workers", "19", "--set"}},
       .environment = lookup({})});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings.max_forwarder_workers, 20U);
  EXPECT_EQ(read->warnings.size(), 1U);
}

TEST(Settings, proxies_are_believed_only_if_they_are_to_be) {
  const auto endpoint = [](std::array<std::uint8_t, 4> bytes) {
    tracker::Endpoint made;
    std::ranges::copy(bytes, made.address.begin());
    return made;
  };
  const auto near = endpoint({192, 168, 0, 1});
  const auto far = endpoint({8, 8, 8, 8});
  const auto any = with("x_real_ip", "true");
  EXPECT_TRUE(any->settings.proxies.contains(near));
  EXPECT_FALSE(any->settings.proxies.contains(far));

  const auto some = read_settings(
      {.options = {{"x_real_ip", "true", "--set"}, {"trusted_proxies", "8.8.8.0/24", "--set"}},
       .environment = lookup({})});
  EXPECT_FALSE(some->settings.proxies.contains(near));
  EXPECT_TRUE(some->settings.proxies.contains(far));

  const auto none = with("trusted_proxies", "8.8.8.0/24");
  EXPECT_TRUE(none->settings.proxies.empty());
  EXPECT_EQ(none->warnings, std::vector<std::string>{
                                "--set: trusted_proxies does nothing without x_real_ip: true"});
}

TEST(Settings, torrents_are_allowed_or_denied_not_both) {
  const auto read = read_settings(
      {.options = {{"hash_allow_file", "a", "--set"}, {"hash_deny_file", "b", "--set"}},
       .environment = lookup({})});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("choose one"), std::string::npos);
}

TEST(Settings, an_assignment_names_a_setting) {
  const auto given = parse_assignment("tracker-id=a=b");
  ASSERT_TRUE(given);
  EXPECT_EQ(given->name, "tracker_id");
  EXPECT_EQ(given->value, "a=b");
  EXPECT_EQ(parse_assignment("age=")->value, "");
  for (const char* const wrong : {"", "age", "=1", "aeg=1"}) EXPECT_FALSE(parse_assignment(wrong));
  EXPECT_EQ(parse_assignment("aeg=1").error().message(),
            "--set: there is no setting \"aeg\": did you mean \"age\"?");
}

}  // namespace
}  // namespace sluice::cli
