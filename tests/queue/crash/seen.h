// SPDX-License-Identifier: MIT
// A job as it was found in the store, as a line of text.
#pragma once

#include <sluice/job.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

struct Seen {
  char queue = '-';
  std::string id = {};
  std::string number = {};  ///< In hex, as a token begins.
  queue::Lane lane = queue::Lane::ready;
  queue::DeathReason reason = queue::DeathReason::none;
  std::uint64_t claims = 0;
  std::uint32_t attempts = 0;
  std::uint32_t lapses = 0;
  std::string group = {};
  std::string result = {};

  friend bool operator==(const Seen&, const Seen&) = default;
};

/// By queue and id.
using JobKey = std::pair<char, std::string>;
using Sight = std::map<JobKey, Seen>;

Seen seen_of(const queue::Job& job);
/// "job ..."; nothing for any other line.
std::string encode_seen(const Seen& seen);
std::optional<Seen> decode_seen(std::string_view line);

/// What a process of its own found after opening the store.
struct Look {
  /// What verify() or the process itself complained about.
  std::vector<std::string> complaints = {};
  std::uint64_t open_us = 0;
  Sight jobs = {};
};
/// `actor` is the path of queue_actor.
Look look_in_child(const std::string& actor, const std::string& dir);

}  // namespace sluice::test
