// SPDX-License-Identifier: MIT
// Calls that meet one job, in short, for the tests of those who judge histories.
#pragma once

#include <cstdint>

#include "tests/queue/crash/history.h"

namespace sluice::test {

inline constexpr Micros kLease = 10'000;

struct Span {
  Micros begin = 0;
  Micros end = 0;
};

inline Op call(Verb verb, Span when, Code code = Code::ok) {
  return {.verb = verb, .begin = when.begin, .end = when.end, .code = code};
}

inline Op enqueue(Span when) {
  return call(Verb::enqueue, when);
}

// Served at the beginning of its time.
inline Op claim(Span when, std::uint64_t number, std::uint32_t attempt) {
  Op op = call(Verb::claim, when);
  op.number = "n";
  op.claim = number;
  op.attempts = attempt;
  op.span = kLease;
  op.until = when.begin + kLease;
  return op;
}

inline Op use(Verb verb, Span when, std::uint64_t number, Code code = Code::ok) {
  Op op = call(verb, when, code);
  op.number = "n";
  op.claim = number;
  if (verb == Verb::extend) op.span = kLease, op.until = when.begin + kLease;
  return op;
}

struct Found {
  queue::Lane lane = queue::Lane::done;
  std::uint64_t claims = 0;
  std::uint32_t attempts = 0;
  std::uint32_t lapses = 0;
};

inline Op look(Micros when, const Found& found) {
  Op op = call(Verb::look, {when, when});
  op.lane = static_cast<std::uint8_t>(found.lane);
  op.claim = found.claims;
  op.attempts = found.attempts;
  op.lapses = found.lapses;
  return op;
}

inline Op unanswered(Op op) {
  op.open = true;
  op.until = 0;
  return op;
}

}  // namespace sluice::test
