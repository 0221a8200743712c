// SPDX-License-Identifier: MIT
#include "retracker/forwarders.h"

#include <algorithm>
#include <array>
#include <map>

#include "cli/suggest.h"
#include "cli/visible.h"
#include "net/address.h"
#include "net/http_url.h"
#include "net/proxy.h"
#include "retracker/yaml_file.h"

namespace sluice::cli {
namespace {

using Upstream = tracker::UpstreamConfig;

/// What a tracker may have, and where it goes.
struct Key {
  std::string_view name;
  std::string Upstream::* member;
};
constexpr std::array<Key, 6> kKeys = {{{"uri", &Upstream::uri},
                                       {"name", &Upstream::name},
                                       {"ip", &Upstream::ip},
                                       {"host", &Upstream::host},
                                       {"bind", &Upstream::bind},
                                       {"proxy", &Upstream::proxy}}};
using Values = std::array<std::string, kKeys.size()>;

struct Uri {
  std::string scheme;  ///< In small letters.
  std::string text;    ///< The whole, with that scheme.
  std::string place;   ///< "tracker.example.org:6969".
};

Failure wrong_uri(std::string_view uri, const std::string& why) {
  return error(Code::invalid_argument, "uri " + in_quotes(uri) + ": " + why);
}

Result<Uri> parse_uri(std::string_view text) {
  constexpr std::string_view kMark = "://";
  const std::size_t mark = std::min(text.find(kMark), text.size());
  std::string scheme(text.substr(0, mark));
  for (char& c : scheme)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  if (scheme != "http" && scheme != "https" && scheme != "udp")
    return wrong_uri(text, "write http://, https:// or udp://, a host and a path");
  const std::string rest(text.substr(mark));
  const auto url = net::parse_http_url((scheme == "https" ? "https" : "http") + rest);
  if (!url) return wrong_uri(text, url.error().message());
  // UDP has no usual port. One that is not written is another for another scheme.
  if (scheme == "udp" && net::parse_http_url("https" + rest)->port != url->port)
    return wrong_uri(text, "udp needs a port: udp://" + url->host_field() + ":6969/announce");
  const std::string origin = url->origin();
  return Uri{.scheme = scheme,
             .text = scheme + rest,
             .place = origin.substr(origin.find(kMark) + kMark.size())};
}

bool is_plain(char c) {
  return c > ' ' && c < 0x7f;
}
/// Names stand in logs, tables and metrics, each of which has lines.
bool is_control(char c) {
  return (c >= 0 && c < ' ') || c == 0x7f;
}

/// An entry, its name still empty if none is written.
struct Entry {
  Upstream upstream = {};
  Uri uri = {};
  std::string place = {};  ///< Of the file.
};

Status check_address(const std::string& key, const std::string& value) {
  if (value.empty()) return {};
  if (std::ranges::all_of(value, is_plain) && net::numeric_address(value, 0)) return {};
  return error(Code::invalid_argument,
               key + " " + in_quotes(value) + ": write an address, as 203.0.113.7 or 2001:db8::7");
}

/// What is said of it does not show it, as it may hold a password.
Status check_proxy(const Upstream& upstream) {
  if (upstream.proxy.empty()) return {};
  if (upstream.uri.starts_with("udp:"))
    return error(Code::invalid_argument,
                 "proxy: no proxy leads to a tracker over UDP; leave it out, or write an http uri");
  if (const auto proxy = net::parse_proxy(upstream.proxy); !proxy)
    return error(Code::invalid_argument, "proxy: " + proxy.error().message());
  return {};
}

Status check(const Upstream& upstream) {
  SLUICE_TRY(check_address("ip", upstream.ip));
  SLUICE_TRY(check_address("bind", upstream.bind));
  SLUICE_TRY(check_proxy(upstream));
  if (!std::ranges::all_of(upstream.host, is_plain))
    return error(Code::invalid_argument,
                 "host " + in_quotes(upstream.host) + ": write a name, as tracker.example.org");
  if (upstream.name.size() > kForwarderNameBytesMax ||
      std::ranges::any_of(upstream.name, is_control))
    return error(Code::invalid_argument,
                 "name " + in_quotes(upstream.name) + ": one line of at most " +
                     std::to_string(kForwarderNameBytesMax) + " bytes is allowed");
  return {};
}

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Result<Forwarders> read(const YAML::Node& root) {
    if (root.IsNull()) return Forwarders{};
    if (!root.IsSequence())
      return error(Code::invalid_argument, place_of(name_, root) + ": write a list of trackers: " +
                                               "- uri: udp://tracker.example.org:6969/announce");
    if (root.size() > kForwardersMax)
      return error(Code::invalid_argument,
                   name_ + ": it has more than " + std::to_string(kForwardersMax) + " trackers");
    for (const auto& node : root) {
      if (const Status status = read_entry(node); !status.ok())
        return error(status.code(), place_of(name_, node) + ": " + status.message());
    }
    SLUICE_TRY(take_names());
    invent_names();
    for (Entry& entry : entries_) found_.forwarders.push_back(std::move(entry.upstream));
    return std::move(found_);
  }

 private:
  Status read_entry(const YAML::Node& node) {
    Entry entry{.place = place_of(name_, node)};
    if (node.IsScalar()) {
      entry.upstream.uri = node.Scalar();
    } else if (node.IsMap()) {
      for (const auto& pair : node) SLUICE_TRY(read_key(pair.first, pair.second, entry.upstream));
    }
    if (entry.upstream.uri.empty())
      return error(Code::invalid_argument, "a tracker needs a uri: write uri: http://host/path");
    SLUICE_LET(uri, parse_uri(entry.upstream.uri));
    entry.upstream.uri = uri.text;
    entry.uri = std::move(uri);
    SLUICE_TRY(check(entry.upstream));
    Values values;
    for (std::size_t i = 0; i < kKeys.size(); ++i) values[i] = entry.upstream.*kKeys[i].member;
    const auto [same, is_new] = seen_.emplace(std::move(values), entry.place);
    if (is_new)
      entries_.push_back(std::move(entry));
    else
      found_.warnings.push_back(entry.place + ": the same as " + same->second + "; left out");
    return {};
  }

  Status read_key(const YAML::Node& key, const YAML::Node& value, Upstream& into) {
    const std::string word = key.IsScalar() ? key.Scalar() : std::string();
    const auto* const known = std::ranges::find(kKeys, word, &Key::name);
    if (known == kKeys.end()) {
      std::vector<std::string_view> words;
      for (const Key& one : kKeys) words.push_back(one.name);
      const std::string meant = did_you_mean(word, words);
      found_.warnings.push_back(place_of(name_, key) + ": a tracker has no " + in_quotes(word) +
                                (meant.empty() ? "" : ": " + meant));
      return {};
    }
    if (value.IsNull()) return {};
    if (!value.IsScalar()) return error(Code::invalid_argument, word + " must be one value");
    into.*known->member = value.Scalar();
    return {};
  }

  /// Those that are written, of which none may be there twice.
  Status take_names() {
    for (const Entry& entry : entries_) {
      if (entry.upstream.name.empty()) continue;
      const auto [at, is_new] = names_.emplace(entry.upstream.name, entry.place);
      if (!is_new)
        return error(Code::invalid_argument, entry.place + ": name " +
                                                 in_quotes(entry.upstream.name) +
                                                 " is taken: see " + at->second);
    }
    return {};
  }

  /// Those that are not.
  void invent_names() {
    std::map<std::string, std::size_t> numbers;
    for (Entry& entry : entries_) {
      if (!entry.upstream.name.empty()) continue;
      const std::string with_scheme = entry.uri.place + "/" + entry.uri.scheme;
      std::string name = entry.uri.place;
      if (names_.contains(name)) name = with_scheme;
      // Each goes on where the last one of its kind was, so that many of them take no longer.
      std::size_t& number = numbers[with_scheme];
      while (names_.contains(name)) name = with_scheme + "/" + std::to_string(++number + 1);
      names_.emplace(name, entry.place);
      entry.upstream.name = std::move(name);
    }
  }

  std::string name_;
  std::vector<Entry> entries_;
  std::map<Values, std::string> seen_;        // And where it is.
  std::map<std::string, std::string> names_;  // And where they are.
  Forwarders found_;
};

}  // namespace

Result<Forwarders> parse_forwarders(const std::string& text, std::string_view name) {
  SLUICE_LET(root, parse_yaml(text, name));
  return Reader(name).read(root);
}

Result<Forwarders> read_forwarders(const std::string& path) {
  SLUICE_LET(text, read_yaml_file(path));
  return parse_forwarders(text, path);
}

}  // namespace sluice::cli
