// SPDX-License-Identifier: MIT
#include "migrate/sim_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace sluice::migrate {
namespace {

constexpr std::string_view kScheme = "sim:";
// So that products of them stay numbers, and a slip of the finger ends before the night does.
constexpr std::uint64_t kDepthMax = 10'000;
constexpr std::uint64_t kFoldersMax = 1'000'000;
constexpr std::uint64_t kFilesMax = 100'000'000;
constexpr std::uint64_t kHealMax = 1'000;
constexpr double kLatencySecondsMax = 3'600;

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool set_count(std::string_view text, std::uint64_t most, std::uint64_t& value) {
  const auto number = number_in<std::uint64_t>(text);
  if (!number || *number > most) return false;
  value = *number;
  return true;
}

bool set_chance(std::string_view text, double& value) {
  const auto number = number_in<double>(text);
  if (!number || !(*number >= 0 && *number <= 1)) return false;
  value = *number;
  return true;
}

bool set_range(std::string_view text, std::uint64_t most, SimRange& value) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  SimRange range;
  if (!set_count(text.substr(0, dash), most, range.least)) return false;
  range.most = range.least;
  if (dash < text.size() && !set_count(text.substr(dash + 1), most, range.most)) return false;
  if (range.least > range.most) return false;
  value = range;
  return true;
}

bool set_latency(std::string_view text, Duration& value) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  // "s" is the end of the others: it comes last.
  for (const Unit unit : {Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}}) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = number_in<double>(text.substr(0, text.size() - unit.name.size()));
    if (!number || !(*number >= 0 && *number * unit.seconds <= kLatencySecondsMax)) return false;
    value = std::chrono::round<Duration>(std::chrono::duration<double>(*number * unit.seconds));
    return true;
  }
  return text == "0";
}

bool set_world(std::string_view text, std::string& value) {
  const auto plain = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
  };
  value = text;
  return !text.empty() && std::ranges::all_of(text, plain);
}

bool set_key(std::string_view key, std::string_view text, SimSpec& spec) {
  std::uint64_t count = 0;
  if (key == "seed") return set_count(text, ~std::uint64_t{0}, spec.seed);
  if (key == "world") return set_world(text, spec.world);
  if (key == "folders") return set_range(text, kFoldersMax, spec.folders);
  if (key == "files") return set_range(text, kFilesMax, spec.files);
  if (key == "presence") return set_chance(text, spec.presence);
  if (key == "differ") return set_chance(text, spec.differ);
  if (key == "extra") return set_chance(text, spec.extra);
  if (key == "latency") return set_latency(text, spec.latency);
  if (key == "errors") return set_chance(text, spec.errors);
  if (key == "mutate") return set_chance(text, spec.mutate);
  if (key == "depth" && set_count(text, kDepthMax, count)) {
    spec.depth = static_cast<std::uint32_t>(count);
    return true;
  }
  if (key == "heal" && set_count(text, kHealMax, count)) {
    spec.heal = static_cast<std::uint32_t>(count);
    return true;
  }
  if (key == "page" && set_count(text, kPageEntries, count)) {
    spec.page = count;
    return count > 0;
  }
  return false;
}

}  // namespace

Result<SimSpec> parse_sim_spec(std::string_view text) {
  const auto refused = [&](std::string_view part) {
    return error(Code::invalid_argument,
                 fmt::format("'{}' in '{}' is not understood; write sim:key=value,..., "
                             "for instance sim:seed=7,depth=3,files=10-20,errors=0.01",
                             part, text));
  };
  if (!text.starts_with(kScheme)) return refused(text);
  std::string_view rest = text.substr(kScheme.size());
  SimSpec spec;
  std::set<std::string_view> seen;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t equals = part.find('=');
    if (equals == part.npos) return refused(part);
    const std::string_view key = part.substr(0, equals);
    if (!seen.insert(key).second || !set_key(key, part.substr(equals + 1), spec))
      return refused(part);
  }
  if (!seen.contains("extra")) spec.extra = 1 - spec.presence;
  return spec;
}

std::string sim_tree_name(const SimSpec& spec) {
  std::string name = fmt::format("sim:seed={},world={},depth={},folders={}-{},files={}-{}",
                                 spec.seed, spec.world, spec.depth, spec.folders.least,
                                 spec.folders.most, spec.files.least, spec.files.most);
  // The first world is what the others differ from.
  if (spec.world != "src")
    name += fmt::format(",presence={},differ={},extra={}", spec.presence, spec.differ, spec.extra);
  return name;
}

}  // namespace sluice::migrate
