// SPDX-License-Identifier: MIT
#include <sluice/job.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

constexpr std::array<const char*, kLaneCount + 1> kLaneNames = {
    "", "waiting", "held", "scheduled", "ready", "leased", "done", "dead", "cancelled"};
constexpr std::array<const char*, 6> kReasonNames = {"none",    "attempts", "poison",
                                                     "expired", "refused",  "orphaned"};
constexpr std::array<const char*, 4> kPolicyNames = {"", "success", "end", "cancel"};
constexpr std::array<const char*, 6> kOutcomeNames = {"",       "acked",  "failed",
                                                      "lapsed", "broken", "cancelled"};
constexpr std::size_t kTokenDigits = 2 * kv::kMarkBytes + 16;

}  // namespace

const char* lane_name(Lane lane) {
  return kLaneNames.at(static_cast<std::size_t>(lane));
}

std::optional<Lane> lane_from_name(std::string_view name) {
  for (std::size_t lane = 1; lane <= kLaneCount; ++lane)
    if (name == kLaneNames[lane]) return static_cast<Lane>(lane);
  return std::nullopt;
}

const char* reason_name(DeathReason reason) {
  return kReasonNames.at(static_cast<std::size_t>(reason));
}

const char* policy_name(AfterPolicy policy) {
  return kPolicyNames.at(static_cast<std::size_t>(policy));
}

const char* outcome_name(Outcome outcome) {
  return kOutcomeNames.at(static_cast<std::size_t>(outcome));
}

std::string Token::to_string() const {
  std::string bytes = job.encode();
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(claim >> shift));
  return to_hex(bytes);
}

Result<Token> Token::parse(std::string_view text) {
  const auto bad = [] {
    return error(Code::invalid_argument, "a token is the 48 hex digits that a claim gave");
  };
  if (text.size() != kTokenDigits) return bad();
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto pair = text.substr(i, 2);
    const auto [end, code] = std::from_chars(pair.data(), pair.data() + 2, value, 16);
    if (code != std::errc() || end != pair.data() + 2) return bad();
    bytes.push_back(static_cast<char>(value));
  }
  Token token;
  SLUICE_LET(mark, kv::Mark::decode(std::string_view(bytes).substr(0, kv::kMarkBytes)));
  token.job = mark;
  for (const char c : std::string_view(bytes).substr(kv::kMarkBytes))
    token.claim = token.claim << 8 | static_cast<unsigned char>(c);
  return token;
}

std::uint64_t& Counts::of(Lane lane) {
  switch (lane) {
    case Lane::waiting:
      return waiting;
    case Lane::held:
      return held;
    case Lane::scheduled:
      return scheduled;
    case Lane::ready:
      return ready;
    case Lane::leased:
      return leased;
    case Lane::done:
      return done;
    case Lane::dead:
      return dead;
    case Lane::cancelled:
      return cancelled;
  }
  SLUICE_CHECK(false && "a lane that does not exist");
  std::abort();
}

std::uint64_t Counts::of(Lane lane) const {
  return const_cast<Counts*>(this)->of(lane);  // NOLINT: the other one changes nothing.
}

}  // namespace sluice::queue
