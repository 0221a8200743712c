// SPDX-License-Identifier: MIT
// Each setting: how it is read into Settings, and shown again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "net/listen.h"
#include "retracker/settings.h"

namespace sluice::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kWeek = 7 * 24 * 60 * 60;
constexpr std::uint64_t kWorkersMax = 100'000;

Failure allowed(const std::string& what) {
  return error(Code::invalid_argument, what + " is allowed");
}

Result<std::uint64_t> whole_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size() && number >= least &&
      number <= most)
    return number;
  return allowed(fmt::format("a whole number from {} to {}", least, most));
}

/// `ForZero`: what 0 stands for. Above `Most` it is something that 0 alone can say.
template <auto Member, std::uint64_t Least, std::uint64_t Most, std::uint64_t ForZero>
Status set_whole(Settings& into, std::string_view text) {
  SLUICE_LET(number, whole_number(text, Least, Most));
  using Number = std::remove_reference_t<decltype(into.*Member)>;
  into.*Member = static_cast<Number>(number == 0 ? ForZero : number);
  return {};
}
template <auto Member, std::uint64_t Most>
std::string show_whole(const Settings& settings) {
  const auto number = static_cast<std::uint64_t>(settings.*Member);
  return number > Most ? "0" : std::to_string(number);
}
template <auto Member, std::uint64_t Least, std::uint64_t Most, std::uint64_t ForZero = 0>
constexpr Setting whole(std::string_view name, std::string_view standard, std::string_view help) {
  return {name,
          "N",
          standard,
          help,
          Shape::number,
          set_whole<Member, Least, Most, ForZero>,
          show_whole<Member, Most>};
}

template <auto Member, class Unit, std::uint64_t Least, std::uint64_t Most, std::uint64_t ForZero>
Status set_time(Settings& into, std::string_view text) {
  SLUICE_LET(number, whole_number(text, Least, Most));
  into.*Member = Unit(number == 0 ? ForZero : number);
  return {};
}
template <auto Member, class Unit>
std::string show_time(const Settings& settings) {
  return std::to_string(std::chrono::duration_cast<Unit>(settings.*Member).count());
}
template <auto Member, class Unit, std::uint64_t Least, std::uint64_t Most,
          std::uint64_t ForZero = 0>
constexpr Setting time(std::string_view name, std::string_view standard, std::string_view help) {
  return {name,
          std::is_same_v<Unit, seconds> ? "SECONDS" : "MS",
          standard,
          help,
          Shape::number,
          set_time<Member, Unit, Least, Most, ForZero>,
          show_time<Member, Unit>};
}

/// All that YAML knows as such.
Result<bool> parse_toggle(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  constexpr std::array<std::string_view, 4> kYes = {"true", "yes", "on", "1"};
  constexpr std::array<std::string_view, 4> kNo = {"false", "no", "off", "0"};
  if (std::ranges::find(kYes, small) != kYes.end()) return true;
  if (std::ranges::find(kNo, small) != kNo.end()) return false;
  return allowed("true or false");
}
template <auto Member>
constexpr Setting toggle(std::string_view name, std::string_view standard, std::string_view help) {
  return {
      name,
      "BOOL",
      standard,
      help,
      Shape::toggle,
      [](Settings& into, std::string_view text) -> Status {
        SLUICE_LET(on, parse_toggle(text));
        into.*Member = on;
        return {};
      },
      [](const Settings& settings) -> std::string { return settings.*Member ? "true" : "false"; }};
}

template <auto Member>
std::string show_text(const Settings& settings) {
  return settings.*Member;
}
template <auto Member>
constexpr Setting file(std::string_view name, std::string_view help) {
  return {name,
          "FILE",
          "",
          help,
          Shape::text,
          [](Settings& into, std::string_view text) -> Status {
            into.*Member = text;
            return {};
          },
          show_text<Member>};
}

/// Names are not looked up, but for the one that everybody knows.
Result<std::string> parse_address(std::string_view text) {
  constexpr std::string_view kHere = "localhost:";
  std::string address(text);
  if (text.starts_with(':')) address.insert(0, "[::]");
  if (text.starts_with(kHere)) address.replace(0, kHere.size(), "127.0.0.1:");
  const bool may_be = !text.starts_with("unix:") && text.find('\0') == text.npos;
  if (may_be && net::is_loopback(address)) return address;
  return allowed(":6969 (every address), 192.0.2.1:6969 or [2001:db8::1]:6969");
}
Status set_listen(Settings& into, std::string_view text) {
  SLUICE_LET(address, parse_address(text));
  into.listen = std::move(address);
  return {};
}
Status set_udp_listen(Settings& into, std::string_view text) {
  if (text.empty()) {
    into.udp_listen.clear();
    return {};
  }
  SLUICE_LET(address, parse_address(text));
  into.udp_listen = std::move(address);
  return {};
}

constexpr double kAgeMin = 0.1;
constexpr double kAgeMax = 525'600;
constexpr double kMillisecondsPerMinute = 60'000;
Status set_age(Settings& into, std::string_view text) {
  double minutes = 0;
  const auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), minutes, std::chars_format::fixed);
  if (problem != std::errc() || end != text.data() + text.size() ||
      !(minutes >= kAgeMin && minutes <= kAgeMax))
    return allowed(fmt::format("{} to {} minutes", kAgeMin, kAgeMax));
  into.age = milliseconds(std::llround(minutes * kMillisecondsPerMinute));
  return {};
}
std::string show_age(const Settings& settings) {
  const auto ms = std::chrono::duration_cast<milliseconds>(settings.age).count();
  return fmt::format("{}", static_cast<double>(ms) / kMillisecondsPerMinute);
}

Status set_tracker_id(Settings& into, std::string_view text) {
  if (text.size() > kTrackerIdBytesMax)
    return allowed(fmt::format("a text of at most {} bytes", kTrackerIdBytesMax));
  into.tracker_id = text;
  return {};
}

/// As HTTP can carry it.
template <auto Member>
Status set_login(Settings& into, std::string_view text) {
  const bool is_user = Member == &Settings::stats_user;
  const auto is_wrong = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' || byte == 0x7f || (is_user && c == ':');
  };
  if (text.size() > kLoginBytesMax || std::ranges::any_of(text, is_wrong))
    return allowed(fmt::format("a text of at most {} bytes without {}", kLoginBytesMax,
                               is_user ? "colons and control characters" : "control characters"));
  into.*Member = text;
  return {};
}

Status set_mode(Settings& into, std::string_view text) {
  if (text != "peer" && text != "hash") return allowed("peer or hash");
  into.announce_mode = text == "peer" ? tracker::AnnounceMode::peer : tracker::AnnounceMode::hash;
  return {};
}
std::string show_mode(const Settings& settings) {
  return settings.announce_mode == tracker::AnnounceMode::peer ? "peer" : "hash";
}

/// Between commas or blanks.
Status set_proxies(Settings& into, std::string_view text) {
  constexpr std::string_view kBetween = ", \t\n";
  std::vector<std::string> networks;
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    networks.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBetween, end);
  }
  SLUICE_TRY(tracker::AddressList::parse(networks));
  into.trusted_proxies = std::move(networks);
  return {};
}
std::string show_proxies(const Settings& settings) {
  return fmt::format("{}", fmt::join(settings.trusted_proxies, ", "));
}

using S = Settings;
constexpr Setting kSettings[] = {
    {"listen", "ADDR", ":6969", "where HTTP is served; :PORT is every address", Shape::text,
     set_listen, show_text<&S::listen>},
    {"udp_listen", "ADDR", "", "where UDP is served; empty: not at all", Shape::text,
     set_udp_listen, show_text<&S::udp_listen>},
    file<&S::forwarders_file>("forwarders_file", "the trackers that announces are forwarded to"),
    toggle<&S::debug>("debug", "false", "log more"),
    toggle<&S::prometheus_enabled>("prometheus_enabled", "false", "serve /metrics"),
    whole<&S::threads, 0, 1'024>("threads", "0", "threads that serve; 0: one per core"),

    {"age", "MINUTES", "180", "peers that say nothing for so long are forgotten", Shape::number,
     set_age, show_age},
    time<&S::announce_interval, seconds, 0, kWeek, 1'800>(
        "announce_interval", "1800", "when clients are to come again; also the least"),
    time<&S::retry_period, seconds, 0, kWeek, 300>("retry_period", "300",
                                                   "when clients that are refused are to come"),
    {"tracker_id", "TEXT", "", "sent with every answer; empty: not sent", Shape::text,
     set_tracker_id, show_text<&S::tracker_id>},
    whole<&S::wanted_max, 1, 5'000>("wanted_max", "200", "the most peers of one answer"),
    time<&S::first_reply_wait, milliseconds, 0, 10'000>(
        "first_reply_wait_ms", "300", "how long a first answer waits for peers from upstream"),
    toggle<&S::refuse_when_full>("refuse_when_full", "false",
                                 "refuse clients while the forward queue is full"),
    time<&S::stats_interval, seconds, 0, kWeek>("stats_interval", "60",
                                                "how often figures are logged; 0: never"),
    {"stats_user", "NAME", "", "who may see /stats and /metrics; empty: any with the password",
     Shape::text, set_login<&S::stats_user>, show_text<&S::stats_user>},
    {"stats_password", "TEXT", "", "the password for that; empty: everybody may", Shape::text,
     set_login<&S::stats_password>, show_text<&S::stats_password>, true},

    toggle<&S::x_real_ip>("x_real_ip", "false", "a proxy names the client in X-Real-IP"),
    {"trusted_proxies", "NETWORKS", "", "proxies that are believed; empty: all that are near",
     Shape::list, set_proxies, show_proxies},
    toggle<&S::ip_from_private>("ip_from_private", "true",
                                "believe ip= of clients with private addresses"),
    file<&S::hash_allow_file>("hash_allow_file", "serve only the torrents on this list"),
    file<&S::hash_deny_file>("hash_deny_file", "serve all torrents but those on this list"),
    file<&S::snapshot_file>("snapshot_file", "keeps the peers over a restart; empty: nothing does"),
    time<&S::snapshot_interval, seconds, 0, kWeek>("snapshot_interval", "300",
                                                   "how often that is written; 0: only at the end"),

    {"announce_mode", "MODE", "peer", "announce upstream every peer, or one per torrent (hash)",
     Shape::text, set_mode, show_mode},
    time<&S::forward_timeout, seconds, 1, 600>("forward_timeout", "30",
                                               "how long an upstream may take"),
    whole<&S::forwarder_workers, 0, kWorkersMax, 1'024>("forwarder_workers", "1024",
                                                        "announces in flight"),
    whole<&S::max_forwarder_workers, 0, kWorkersMax>(
        "max_forwarder_workers", "4096", "as many while the queue is busy; 0: twice as many"),
    whole<&S::in_flight_per_upstream, 1, kWorkersMax>("in_flight_per_upstream", "16",
                                                      "announces in flight to one upstream"),
    whole<&S::forwarder_queue_size, 0, 10'000'000, tracker::kQueueCapacityFallback>(
        "forwarder_queue_size", "10000", "announces that wait"),
    whole<&S::queue_scale_threshold_pct, 0, 100, 60>(
        "queue_scale_threshold_pct", "60", "a queue so full, in percent, makes more workers"),
    whole<&S::queue_rate_limit_threshold, 0, 100, kNeverPct>(
        "queue_rate_limit_threshold", "80",
        "one so full limits first announces, with refuse_when_full; 0: never"),
    whole<&S::queue_throttle_threshold, 0, 100, 60>("queue_throttle_threshold", "60",
                                                    "one so full has fewer upstreams told"),
    whole<&S::queue_throttle_top_n, 0, 100'000>("queue_throttle_top_n", "20",
                                                "so many; 0: no fewer"),
    whole<&S::max_forwarders_per_announce, 0, 100'000, 100>(
        "max_forwarders_per_announce", "100", "the most upstreams told of one announce"),
    whole<&S::rate_limit_initial_per_sec, 0, 1'000'000, 100>(
        "rate_limit_initial_per_sec", "100", "first announces a second when they are limited"),
    whole<&S::rate_limit_initial_burst, 0, 1'000'000, 200>("rate_limit_initial_burst", "200",
                                                           "and at once"),
    time<&S::forwarder_suspend, seconds, 1, kWeek>("forwarder_suspend_seconds", "300",
                                                   "how long a busy upstream is left alone"),
    whole<&S::forwarder_fail_threshold, 0, 1'000'000, kNeverFailures>(
        "forwarder_fail_threshold", "10", "failures in a row until an upstream rests; 0: never"),
    whole<&S::forwarder_retry_attempts, 1, 100>("forwarder_retry_attempts", "5",
                                                "how often one announce is tried"),
    time<&S::forwarder_retry_base, milliseconds, 1, 60'000>(
        "forwarder_retry_base_ms", "500", "the first wait between tries; doubles"),
};

}  // namespace

std::span<const Setting> all_settings() {
  return kSettings;
}

}  // namespace sluice::cli
