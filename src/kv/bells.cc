// SPDX-License-Identifier: MIT
#include "kv/bells.h"

#include <algorithm>
#include <stop_token>

#include "base/futex.h"

namespace sluice::kv {
namespace {

// FNV-1a. Processes of different builds share the words, so std::hash will not do.
std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

void ring_word(std::atomic<std::uint32_t>& word) {
  word.fetch_add(1);
  futex_wake(word);
}

}  // namespace

std::atomic<std::uint32_t>& Bells::word(std::string_view bell) const {
  return words_[stable_hash(bell) % kBellWords];
}

void Bells::ring(std::string_view bell) const {
  ring_word(word(bell));
}

BellTicket Bells::listen(std::string_view bell) const {
  return {.bell = std::string(bell), .rings = word(bell).load(), .commits = commits_()};
}

Wake Bells::wait(const BellTicket& ticket, const WaitOptions& options) const {
  std::atomic<std::uint32_t>& rings = word(ticket.bell);
  const auto seen = static_cast<std::uint32_t>(ticket.rings);
  // Ringing is the one way to wake this thread that cannot fall between its check and its sleep.
  const std::stop_callback on_stop(options.stop, [&] { ring_word(rings); });
  const Clock& clock = system_clock();
  const MonoTime begin = clock.mono();
  const MonoTime deadline =
      options.timeout < MonoTime::max() - begin ? begin + options.timeout : MonoTime::max();
  for (MonoTime check = begin + kBellCheckPeriod;;) {
    if (options.stop.stop_requested()) return Wake::stopped;
    if (rings.load() != seen) return Wake::rung;
    const MonoTime now = clock.mono();
    if (now >= check) {
      if (commits_() != ticket.commits) return Wake::rung;
      check = now + kBellCheckPeriod;
    }
    if (now >= deadline) return Wake::timed_out;
    futex_wait(rings, seen, std::min(check, deadline) - now);
  }
}

}  // namespace sluice::kv
