// SPDX-License-Identifier: MIT
// What can be set about retracker: by option, else by environment, else by file, else by default.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "tracker/address_list.h"
#include "tracker/forward_options.h"

namespace sluice::cli {

/// A share of the queue, and a number of failures, that are never reached.
inline constexpr std::uint32_t kNeverPct = 101;
inline constexpr std::uint32_t kNeverFailures = UINT32_MAX;
inline constexpr std::size_t kTrackerIdBytesMax = 255;
inline constexpr std::size_t kLoginBytesMax = 255;

/// Ready for use: names are complete, and 0 is not written where it stands for something else.
struct Settings {
  std::string listen = {};      ///< "[::]:6969" for ":6969": every address, of both families.
  std::string udp_listen = {};  ///< As `listen`; empty: no UDP.
  bool debug = false;
  bool prometheus_enabled = false;
  unsigned threads = 0;  ///< 0: one per core.

  Duration age = {};                ///< How long a peer that says nothing is kept.
  Duration announce_interval = {};  ///< Also the least that a client is told to wait.
  Duration retry_period = {};       ///< What a refused client is told.
  Duration stats_interval = {};     ///< 0: nothing is printed.
  std::string stats_user = {};      ///< Empty: any.
  std::string stats_password = {};  ///< Empty: everybody sees the figures.
  Duration first_reply_wait = {};   ///< 0: a first answer waits for nobody.
  std::uint32_t wanted_max = 0;
  std::string tracker_id = {};  ///< Empty: not sent.
  bool refuse_when_full = false;

  bool x_real_ip = false;
  std::vector<std::string> trusted_proxies = {};  ///< As they were written.
  /// Who is believed when it names its client (X-Real-IP): nobody unless `x_real_ip`; then
  /// `trusted_proxies`, or whoever is near if there are none.
  tracker::AddressList proxies = {};
  bool ip_from_private = false;  ///< `ip=` is believed of whoever is near.
  std::string hash_allow_file = {};
  std::string hash_deny_file = {};  ///< Never both.
  std::string snapshot_file = {};   ///< Empty: none.
  Duration snapshot_interval = {};  ///< 0: only at the end.

  std::string forwarders_file = {};  ///< Empty: nothing is forwarded.
  tracker::AnnounceMode announce_mode = tracker::AnnounceMode::peer;
  Duration forward_timeout = {};
  std::uint32_t forwarder_workers = 0;
  std::uint32_t max_forwarder_workers = 0;  ///< Not below `forwarder_workers`.
  std::uint32_t in_flight_per_upstream = 0;
  std::int64_t forwarder_queue_size = 0;
  std::uint32_t queue_scale_threshold_pct = 0;
  std::uint32_t queue_rate_limit_threshold = 0;  ///< kNeverPct: off.
  std::uint32_t queue_throttle_threshold = 0;
  std::uint32_t queue_throttle_top_n = 0;  ///< 0: no fewer than always.
  std::uint32_t max_forwarders_per_announce = 0;
  std::uint32_t rate_limit_initial_per_sec = 0;
  std::uint32_t rate_limit_initial_burst = 0;
  Duration forwarder_suspend = {};
  std::uint32_t forwarder_fail_threshold = 0;  ///< kNeverFailures: off.
  std::uint32_t forwarder_retry_attempts = 0;
  Duration forwarder_retry_base = {};
};

enum class Shape : std::uint8_t { text, number, toggle, list };

/// A row of the table that everything about settings is made from.
struct Setting {
  std::string_view name;   ///< "udp_listen": $RETRACKER_UDP_LISTEN, `udp_listen:` in the file.
  std::string_view value;  ///< "ADDR".
  std::string_view standard;
  std::string_view help;
  Shape shape;
  /// `invalid_argument` says what is allowed; nothing is changed then.
  Status (*set)(Settings& into, std::string_view text);
  /// What set() understands.
  std::string (*show)(const Settings& settings);
  bool is_secret = false;  ///< Not for people's eyes.
};
std::span<const Setting> all_settings();
/// What is shown of a secret.
inline constexpr std::string_view kHidden = "***";
/// For people's eyes.
std::string shown(const Setting& setting, const Settings& settings);
/// The same as JSON.
void write_value(codec::json::Writer& writer, const Setting& setting, const Settings& settings);
/// "RETRACKER_UDP_LISTEN" for "udp_listen".
std::string variable_of(std::string_view name);
/// `there is no setting "lisen": did you mean "listen"?`
std::string no_such_setting(std::string_view name);

/// A setting that an option gives.
struct GivenSetting {
  std::string name = {};
  std::string value = {};
  std::string where = {};  ///< "--listen".
};
/// Of "name=value"; `invalid_argument` if it is none, or there is no such setting.
Result<GivenSetting> parse_assignment(const std::string& text);

using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

struct SettingsSources {
  std::vector<GivenSetting> options = {};
  std::optional<std::string> config = {};  ///< Else $RETRACKER_CONFIG, else there is no file.
  Lookup environment = {};                 ///< Nothing for what is empty.
};

struct EffectiveSettings {
  Settings settings = {};
  /// Of each of all_settings(): "--listen", "$RETRACKER_LISTEN", "file.yaml:3", "default".
  std::vector<std::string> origins = {};
  /// What does not stop it: names in the file that there are not, and values without effect.
  std::vector<std::string> warnings = {};
};

/// Each setting from the first that gives it: option, environment, file, default. Only that one has
/// to be right. `invalid_argument` names the setting, where it comes from and what is allowed; also
/// if the file cannot be read.
Result<EffectiveSettings> read_settings(const SettingsSources& sources);

}  // namespace sluice::cli
