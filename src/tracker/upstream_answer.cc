// SPDX-License-Identifier: MIT
#include "tracker/upstream_answer.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>

#include "tracker/bencode.h"
#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

using bencode::Kind;
using bencode::View;

std::optional<std::int64_t> integer_in(const View& dict, std::string_view key) {
  const auto value = dict.find(key);
  return value ? value->integer() : std::nullopt;
}

std::string_view text_in(const View& dict, std::string_view key) {
  const auto value = dict.find(key);
  return value ? value->string().value_or(std::string_view()) : std::string_view();
}

std::optional<std::uint32_t> count_in(const View& dict, std::string_view key) {
  const auto number = integer_in(dict, key);
  if (!number || *number < 0) return std::nullopt;
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(*number, kMost));
}

std::optional<std::chrono::seconds> interval_in(const View& dict, std::string_view key) {
  const auto number = integer_in(dict, key);
  if (!number || *number <= 0) return std::nullopt;
  return std::chrono::seconds(std::min<std::int64_t>(*number, kUpstreamIntervalMax.count()));
}

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = problem == std::errc() && end == digits.data() + digits.size();
  return whole ? std::optional(number) : std::nullopt;
}

std::optional<RetryIn> retry_in(const View& dict) {
  const auto value = dict.find("retry in");
  if (!value) return std::nullopt;
  if (value->string() == "never") return RetryIn{.never = true};
  const auto number = value->string() ? number_of(*value->string()) : value->integer();
  if (!number || *number <= 0) return std::nullopt;
  return RetryIn{
      .after = std::chrono::minutes(std::min<std::int64_t>(*number, kUpstreamRetryMax.count()))};
}

/// Adds peers to a list until it is full.
class Collector {
 public:
  Collector(PeerList& peers, UpstreamLimits limits) : peers_(peers), limits_(limits) {}

  void add(const View& value, std::size_t entry_bytes) {
    if (const auto text = value.string()) add_compact(*text, entry_bytes);
    if (value.kind() == Kind::list) add_dicts(value);
  }

 private:
  void add_compact(std::string_view text, std::size_t entry_bytes) {
    for (; text.size() >= entry_bytes; text.remove_prefix(entry_bytes))
      add_peer(
          endpoint_of_compact({reinterpret_cast<const std::uint8_t*>(text.data()), entry_bytes}));
  }

  void add_dicts(const View& list) {
    auto entries = list.entries();
    while (const auto entry = entries.next()) {
      const auto port = integer_in(entry->value, "port");
      if (!port || *port < 1 || *port > std::numeric_limits<std::uint16_t>::max()) continue;
      const auto endpoint =
          endpoint_of(text_in(entry->value, "ip"), static_cast<std::uint16_t>(*port));
      if (endpoint) add_peer(*endpoint);
    }
  }

  void add_peer(const Endpoint& endpoint) {
    const bool has_address =
        std::ranges::any_of(endpoint.address, [](std::uint8_t byte) { return byte != 0; });
    const std::size_t count =
        endpoint.is_v6 ? peers_.v6.size() / kCompactBytes6 : peers_.v4.size() / kCompactBytes4;
    if (has_address && endpoint.port != 0 && count < limits_.peers_max)
      append_compact(peers_, endpoint);
  }

  PeerList& peers_;
  UpstreamLimits limits_;
};

}  // namespace

Result<UpstreamAnswer> read_upstream_answer(std::string_view body, UpstreamLimits limits) {
  SLUICE_LET(dict, bencode::read(body));
  if (dict.kind() != Kind::dict) return error(Code::invalid_argument, "not a dictionary");
  UpstreamAnswer answer;
  answer.interval = interval_in(dict, "interval");
  answer.min_interval = interval_in(dict, "min interval");
  answer.warning = text_in(dict, "warning message").substr(0, kUpstreamTextBytesMax);
  if (dict.find("failure reason")) {
    answer.failure = text_in(dict, "failure reason").substr(0, kUpstreamTextBytesMax);
    answer.retry = retry_in(dict);
    return answer;
  }
  const std::string_view tracker_id = text_in(dict, "tracker id");
  if (tracker_id.size() <= kTrackerIdBytesMax) answer.tracker_id = tracker_id;
  answer.complete = count_in(dict, "complete");
  answer.incomplete = count_in(dict, "incomplete");
  answer.downloaded = count_in(dict, "downloaded");
  Collector collector(answer.peers, limits);
  if (const auto peers = dict.find("peers")) collector.add(*peers, kCompactBytes4);
  if (const auto peers = dict.find("peers6")) collector.add(*peers, kCompactBytes6);
  return answer;
}

}  // namespace sluice::tracker
