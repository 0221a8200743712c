// SPDX-License-Identifier: MIT
#include "tracker/upstream_target.h"

#include <fmt/format.h>

#include <iterator>
#include <span>

#include "tracker/endpoint_text.h"

namespace sluice::tracker {
namespace {

bool is_plain(std::uint8_t byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

void append_escaped(std::string& out, std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const std::uint8_t byte : bytes) {
    if (is_plain(byte)) {
      out += static_cast<char>(byte);
      continue;
    }
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

void append_escaped(std::string& out, std::string_view text) {
  append_escaped(out, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string_view event_name(Event event) {
  switch (event) {
    case Event::none:
      return {};
    case Event::completed:
      return "completed";
    case Event::started:
      return "started";
    case Event::stopped:
      return "stopped";
  }
  return {};
}

/// `base` up to where the first of our fields goes.
std::string begun(std::string_view base) {
  std::string target(base.substr(0, base.find('#')));
  if (target.find('?') == std::string::npos)
    target += '?';
  else if (!target.ends_with('?') && !target.ends_with('&'))
    target += '&';
  return target;
}

/// Some trackers know it by one name, some by the other.
void append_address_fields(std::string& target, const Endpoint& address) {
  std::string text;
  append_address(text, address);
  for (const std::string_view name : {"&ip=", address.is_v6 ? "&ipv6=" : "&ipv4="}) {
    target += name;
    append_escaped(target, text);
  }
}

}  // namespace

std::string upstream_target(std::string_view base, const Announce& announce,
                            const UpstreamExtras& extras) {
  std::string target = begun(base);
  target += "info_hash=";
  append_escaped(target, announce.hash.bytes);
  target += "&peer_id=";
  append_escaped(target, announce.peer.bytes);
  fmt::format_to(std::back_inserter(target), "&port={}&uploaded={}&downloaded={}&left={}&compact=1",
                 announce.endpoint.port, announce.uploaded, announce.downloaded, announce.left);
  if (announce.wanted) fmt::format_to(std::back_inserter(target), "&numwant={}", *announce.wanted);
  if (announce.key != 0) fmt::format_to(std::back_inserter(target), "&key={:08X}", announce.key);
  if (announce.event != Event::none) {
    target += "&event=";
    target += event_name(announce.event);
  }
  if (extras.address) append_address_fields(target, *extras.address);
  if (!extras.tracker_id.empty()) {
    target += "&trackerid=";
    append_escaped(target, extras.tracker_id);
  }
  return target;
}

}  // namespace sluice::tracker
