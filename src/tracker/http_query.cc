// SPDX-License-Identifier: MIT
#include "tracker/http_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

struct Field {
  std::string_view name = {};
  std::string_view value = {};  // Escaped.
};

Failure refuse(std::string_view name, std::string_view why) {
  return error(Code::invalid_argument, fmt::format("{} {}", name, why));
}

std::string_view query_of(std::string_view target) {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

/// Takes the next field that has a value; false at the end.
bool take_field(std::string_view& query, Field& field) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view text = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals + 1 == text.size()) continue;
    field = {text.substr(0, equals), text.substr(equals + 1)};
    return true;
  }
  return false;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Takes one byte of an escaped text that is not empty; nothing if its escape is malformed.
std::optional<std::uint8_t> take_byte(std::string_view& text, QueryOptions options) {
  const char first = text.front();
  if (first != '%') {
    text.remove_prefix(1);
    return static_cast<std::uint8_t>(first == '+' && options.plus_is_space ? ' ' : first);
  }
  if (text.size() < 3) return std::nullopt;
  const int high = hex_digit(text[1]);
  const int low = hex_digit(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  text.remove_prefix(3);
  return static_cast<std::uint8_t>(high << 4 | low);
}

Status read_bytes(const Field& field, QueryOptions options, std::span<std::uint8_t> bytes) {
  std::string_view rest = field.value;
  for (std::uint8_t& place : bytes) {
    const auto byte = rest.empty() ? std::nullopt : take_byte(rest, options);
    if (!byte) return refuse(field.name, "is not 20 bytes, escaped where needed");
    place = *byte;
  }
  if (!rest.empty()) return refuse(field.name, "is longer than 20 bytes");
  return {};
}

Result<std::string> read_text(const Field& field, QueryOptions options) {
  std::string text;
  for (std::string_view rest = field.value; !rest.empty();) {
    const auto byte = take_byte(rest, options);
    if (!byte) return refuse(field.name, "has a malformed escape");
    text += static_cast<char>(*byte);
  }
  return text;
}

template <class T>
Status read_number(const Field& field, T& number) {
  const std::string_view text = field.value;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc::result_out_of_range) return refuse(field.name, "is too large");
  if (problem != std::errc() || end != text.data() + text.size())
    return refuse(field.name, "is not a decimal number");
  return {};
}

Event event_of(std::string_view text) {
  if (text == "started") return Event::started;
  if (text == "completed") return Event::completed;
  if (text == "stopped") return Event::stopped;
  return Event::none;
}

std::uint32_t key_of(std::string_view text) {
  std::uint32_t key = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), key, 16);
  if (text.size() <= 8 && problem == std::errc() && end == text.data() + text.size()) return key;
  key = 2166136261;  // FNV-1a.
  for (const char c : text) key = (key ^ static_cast<std::uint8_t>(c)) * 16777619;
  return key;
}

template <auto kMember>
Status read_id(const Field& field, QueryOptions options, HttpAnnounce& read) {
  return read_bytes(field, options, (read.announce.*kMember).bytes);
}

template <auto kMember>
Status read_amount(const Field& field, QueryOptions, HttpAnnounce& read) {
  return read_number(field, read.announce.*kMember);
}

template <auto kMember>
Status read_flag(const Field& field, QueryOptions, HttpAnnounce& read) {
  read.*kMember = field.value != "0";
  return {};
}

Status read_port(const Field& field, QueryOptions, HttpAnnounce& read) {
  return read_number(field, read.announce.endpoint.port);
}

Status read_event(const Field& field, QueryOptions, HttpAnnounce& read) {
  read.announce.event = event_of(field.value);
  return {};
}

Status read_wanted(const Field& field, QueryOptions, HttpAnnounce& read) {
  std::int64_t number = 0;
  SLUICE_TRY(read_number(field, number));
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (number >= 0) read.announce.wanted = static_cast<std::uint32_t>(std::min(number, kMost));
  return {};
}

Status read_key(const Field& field, QueryOptions, HttpAnnounce& read) {
  read.announce.key = key_of(field.value);
  return {};
}

Status read_ip(const Field& field, QueryOptions options, HttpAnnounce& read) {
  SLUICE_LET(text, read_text(field, options));
  read.claimed = endpoint_of(text, 0);
  return {};
}

Status read_tracker_id(const Field& field, QueryOptions options, HttpAnnounce& read) {
  SLUICE_LET(text, read_text(field, options));
  read.tracker_id = std::move(text);
  return {};
}

struct Known {
  std::string_view name;
  Status (*read)(const Field& field, QueryOptions options, HttpAnnounce& read);
};

constexpr Known kKnown[] = {
    {"info_hash", read_id<&Announce::hash>},
    {"peer_id", read_id<&Announce::peer>},
    {"port", read_port},
    {"uploaded", read_amount<&Announce::uploaded>},
    {"downloaded", read_amount<&Announce::downloaded>},
    {"left", read_amount<&Announce::left>},
    {"event", read_event},
    {"numwant", read_wanted},
    {"compact", read_flag<&HttpAnnounce::compact>},
    {"no_peer_id", read_flag<&HttpAnnounce::no_peer_id>},
    {"key", read_key},
    {"ip", read_ip},
    {"trackerid", read_tracker_id},
};
constexpr std::size_t kKnownCount = std::size(kKnown);

std::size_t known(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kKnown, name, &Known::name) - kKnown);
}

}  // namespace

Result<HttpAnnounce> read_http_announce(std::string_view target, QueryOptions options) {
  HttpAnnounce read;
  read.announce.left = kLeftUnknown;
  std::array<bool, kKnownCount> seen = {};
  Field field;
  for (std::string_view query = query_of(target); take_field(query, field);) {
    const std::size_t which = known(field.name);
    if (which == kKnownCount || seen[which]) continue;
    seen[which] = true;
    SLUICE_TRY(kKnown[which].read(field, options, read));
  }
  for (const std::string_view name : {"info_hash", "peer_id"})
    if (!seen[known(name)]) return refuse(name, "is missing");
  const std::uint16_t port = read.announce.endpoint.port;
  if (port == 0 && read.announce.event != Event::stopped)
    return refuse("port", "must be 1 to 65535");
  if (read.claimed) read.claimed->port = port;
  return read;
}

Result<std::vector<InfoHash>> read_http_scrape(std::string_view target, QueryOptions options) {
  std::vector<InfoHash> hashes;
  Field field;
  for (std::string_view query = query_of(target); take_field(query, field);) {
    if (field.name != "info_hash") continue;
    if (hashes.size() == kScrapeHashesMax)
      return error(Code::limit_exceeded,
                   fmt::format("more than {} times info_hash", kScrapeHashesMax));
    hashes.emplace_back();
    SLUICE_TRY(read_bytes(field, options, hashes.back().bytes));
  }
  if (hashes.empty()) return refuse("info_hash", "is missing");
  return hashes;
}

}  // namespace sluice::tracker
