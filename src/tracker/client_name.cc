// SPDX-License-Identifier: MIT
#include "tracker/client_name.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::tracker {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

/// By code, in order.
constexpr Entry kPrograms[] = {{"AG", "Ares"},
                               {"AZ", "Vuze"},
                               {"BC", "BitComet"},
                               {"BG", "BTGetit"},
                               {"BI", "BiglyBT"},
                               {"BL", "BitLord"},
                               {"BT", "BitTorrent"},
                               {"BW", "BitWombat"},
                               {"CT", "CTorrent"},
                               {"DE", "Deluge"},
                               {"FD", "Free Download Manager"},
                               {"FL", "Flud"},
                               {"FX", "Freebox"},
                               {"HL", "Halite"},
                               {"KG", "KGet"},
                               {"KT", "KTorrent"},
                               {"LI", "LIII"},
                               {"LT", "libtorrent"},
                               {"LW", "LimeWire"},
                               {"MG", "MediaGet"},
                               {"PI", "PicoTorrent"},
                               {"QD", "QQDownload"},
                               {"SD", "Xunlei"},
                               {"TE", "terasaur"},
                               {"TL", "Tribler"},
                               {"TN", "Torrent.NET"},
                               {"TR", "Transmission"},
                               {"TX", "Tixati"},
                               {"UE", "uTorrent Embedded"},
                               {"UM", "uTorrent Mac"},
                               {"UT", "uTorrent"},
                               {"UW", "uTorrent Web"},
                               {"WD", "WebTorrent Desktop"},
                               {"WW", "WebTorrent"},
                               {"XL", "Xunlei"},
                               {"ZO", "Zona"},
                               {"lt", "rTorrent"},
                               {"qB", "qBittorrent"}};
static_assert(std::ranges::is_sorted(kPrograms, {}, &Entry::first));

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_sign(char c) {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

std::string program_of(std::string_view code) {
  const auto* const found = std::ranges::lower_bound(kPrograms, code, {}, &Entry::first);
  const bool known = found != std::end(kPrograms) && found->first == code;
  return std::string(known ? found->second : code);
}

/// One sign of a version: after 9 comes A, which is 10.
std::string part_of(char sign) {
  if (is_digit(sign) || sign > 'Z') return {sign};
  return std::to_string(sign - 'A' + 10);
}

std::string version_of(std::string_view code, std::string_view signs) {
  if (code == "TR" && signs[0] < '4') return {signs[0], '.', signs[1], signs[2]};
  if (code == "BC") return part_of(signs[1]) + "." + std::string(signs.substr(2));
  std::string version = part_of(signs[0]) + "." + part_of(signs[1]) + "." + part_of(signs[2]);
  // The last is often no number but the kind of build.
  if (is_digit(signs[3]) && signs[3] != '0') version += "." + part_of(signs[3]);
  return version;
}

/// "-qB4520-"
bool is_azureus(std::string_view id) {
  return id[0] == '-' && id[7] == '-' && std::ranges::all_of(id.substr(1, 6), is_sign);
}

std::string azureus_name(std::string_view id) {
  const std::string_view code = id.substr(1, 2);
  return program_of(code) + " " + version_of(code, id.substr(3, 4));
}

/// Numbers with a dash after each, such as "7-2-3--" or "1-36-0-": as "7.2.3".
std::optional<std::string> dashed_version(std::string_view text) {
  std::string version;
  for (int i = 0; i < 3; ++i) {
    const std::size_t end = std::min(text.find('-'), text.size());
    const std::string_view number = text.substr(0, end);
    if (end == text.size() || number.empty() || number.size() > 3) return std::nullopt;
    if (!std::ranges::all_of(number, is_digit)) return std::nullopt;
    if (!version.empty()) version += '.';
    version += number;
    text.remove_prefix(end + 1);
  }
  return version;
}

std::optional<std::string> dashed_name(std::string_view id) {
  constexpr Entry kDashed[] = {{"A2-", "aria2"}, {"M", "Mainline"}, {"Q", "Queen Bee"}};
  for (const auto& [start, program] : kDashed) {
    if (!id.starts_with(start)) continue;
    if (const auto version = dashed_version(id.substr(start.size())))
      return std::string(program) + " " + *version;
  }
  return std::nullopt;
}

std::string_view text_of(const PeerId& peer) {
  return {reinterpret_cast<const char*>(peer.bytes.data()), peer.bytes.size()};
}

}  // namespace

bool tells_client(const PeerId& peer) {
  const std::string_view id = text_of(peer);
  return is_azureus(id) || dashed_name(id).has_value();
}

std::string client_name(const PeerId& peer) {
  const std::string_view id = text_of(peer);
  if (is_azureus(id)) return azureus_name(id);
  if (auto name = dashed_name(id)) return *name;
  return std::string(kUnknownClient);
}

}  // namespace sluice::tracker
