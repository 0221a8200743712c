// SPDX-License-Identifier: MIT
#include "tests/queue/crash/seen.h"

#include <sstream>

#include "tests/queue/crash/workload.h"
#include "tests/support/child.h"

namespace sluice::test {
namespace {

// A token of the job without its claim.
std::string hex_number(const kv::Mark& number) {
  return queue::Token{.job = number}.to_string().substr(0, 2 * kv::kMarkBytes);
}

}  // namespace

Seen seen_of(const queue::Job& job) {
  return {.queue = queue_letter(job.queue),
          .id = job.id,
          .number = hex_number(job.number),
          .lane = job.lane,
          .reason = job.reason,
          .claims = job.claims,
          .attempts = job.attempts,
          .lapses = job.lapses,
          .group = job.group,
          .result = job.result};
}

std::string encode_seen(const Seen& seen) {
  std::ostringstream words;
  words << "job " << seen.queue << ' ' << seen.id << ' ' << seen.number << ' '
        << static_cast<unsigned>(seen.lane) << ' ' << static_cast<unsigned>(seen.reason) << ' '
        << seen.claims << ' ' << seen.attempts << ' ' << seen.lapses << ' '
        << (seen.group.empty() ? "-" : seen.group) << ' '
        << (seen.result.empty() ? "-" : seen.result);
  return words.str();
}

std::optional<Seen> decode_seen(std::string_view line) {
  std::istringstream words{std::string(line)};
  Seen seen;
  std::string what;
  unsigned lane = 0;
  unsigned reason = 0;
  words >> what >> seen.queue >> seen.id >> seen.number >> lane >> reason >> seen.claims >>
      seen.attempts >> seen.lapses >> seen.group >> seen.result;
  if (!words || what != "job") return {};
  seen.lane = static_cast<queue::Lane>(lane);
  seen.reason = static_cast<queue::DeathReason>(reason);
  if (seen.group == "-") seen.group.clear();
  if (seen.result == "-") seen.result.clear();
  return seen;
}

Look look_in_child(const std::string& actor, const std::string& dir) {
  Child child({actor, "check", dir});
  Look look;
  while (auto line = child.read_line()) {
    if (auto seen = decode_seen(*line))
      look.jobs.emplace(JobKey(seen->queue, seen->id), *seen);
    else if (line->starts_with("open_us "))
      look.open_us = std::stoull(line->substr(8));
    else
      look.complaints.push_back(*line);
  }
  if (const Exit exit = child.wait(); !exit.clean())
    look.complaints.push_back("the checking process ended with " + exit.to_string());
  return look;
}

}  // namespace sluice::test
