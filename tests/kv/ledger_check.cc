// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "codec/record.h"
#include "tests/kv/ledger.h"
#include "tests/kv/ledger_layout.h"

namespace sluice::test {
namespace {

struct Lane {
  Head head = {};
  std::map<std::uint64_t, LogEntry> log;
  std::vector<std::pair<kv::Mark, std::uint64_t>> stamped;  // In the order of the keys.
  std::optional<std::pair<kv::Mark, std::uint64_t>> last;
};

std::string lane_name(unsigned lane) {
  return "lane " + std::to_string(lane);
}
std::string posting_name(unsigned lane, std::uint64_t number) {
  return lane_name(lane) + " posting " + std::to_string(number);
}

// Reads everything, then judges it.
class Checker {
 public:
  explicit Checker(const Truth& truth) : truth_(truth) {}

  Verdict check(kv::Store& store) {
    const Status status = store.read(
        [&](kv::Reader& reader) {
          return reader.scan(kv::Range::all(), {},
                             [&](std::string_view key, std::string_view value) {
                               if (const Status read = take(key, value); !read.ok())
                                 breach(Breach::Kind::corrupt,
                                        "key '" + std::string(key) + "': " + read.to_string());
                               return verdict_.breaches.size() < 20;
                             });
        },
        {.unbounded = true});
    if (!status.ok()) breach(Breach::Kind::corrupt, "cannot read: " + status.to_string());
    judge_accounts();
    for (const auto& [lane, known] : truth_) lanes_.try_emplace(lane);
    for (const auto& [lane, state] : lanes_) {
      verdict_.last[lane] = state.head.last;
      judge_last(lane, state);
      judge_entries(lane, state);
    }
    judge_order();
    return std::move(verdict_);
  }

 private:
  void breach(Breach::Kind kind, std::string text) {
    verdict_.breaches.push_back({kind, std::move(text)});
  }

  Status take(std::string_view key, std::string_view value) {
    if (key == kCountKey) {
      SLUICE_LET(count, kv::decode_counter(std::string(value)));
      count_ = static_cast<std::uint64_t>(count);
      return {};
    }
    if (key.size() < 4 || key[1] != '/') return {Code::corrupt, "no such key"};
    const unsigned lane = lane_of(key);
    switch (key[0]) {
      case 'a': {
        SLUICE_LET(account, Account::decode(value));
        accounts_[lane] = account;
        return {};
      }
      case 'h': {
        SLUICE_LET(head, Head::decode(value));
        lanes_[lane].head = head;
        return {};
      }
      case 'l':
        return take_entry(key, value);
      case 's':
        return take_stamped_key(lane, key, value);
      case 'v':
        return take_stamped_value(lane, value);
      default:
        return {Code::corrupt, "no such key"};
    }
  }

  Status take_entry(std::string_view key, std::string_view value) {
    SLUICE_LET(entry, LogEntry::decode(value));
    if (key != log_key(entry.lane, entry.number)) return {Code::corrupt, "not at its own key"};
    lanes_[entry.lane].log[entry.number] = entry;
    return {};
  }

  Status take_stamped_key(unsigned lane, std::string_view key, std::string_view value) {
    SLUICE_LET(mark, kv::Mark::decode(key.substr(stamped_prefix(lane).size())));
    SLUICE_LET(number, decode_number(value));
    lanes_[lane].stamped.emplace_back(mark, number);
    return {};
  }

  Status take_stamped_value(unsigned lane, std::string_view value) {
    SLUICE_LET(parts, codec::split_mark(value));
    SLUICE_LET(number, decode_number(parts.record));
    SLUICE_LET(mark, kv::Mark::decode(parts.mark));
    lanes_[lane].last.emplace(mark, number);
    return {};
  }

  void judge_accounts() {
    std::uint64_t postings = 0;
    std::uint64_t touches = 0;
    std::uint64_t sum = 0;
    for (const auto& [lane, state] : lanes_) postings += state.head.last;
    for (const auto& [account, state] : accounts_) {
      touches += state.version;
      sum += state.balance;
    }
    if (count_ != postings)
      breach(Breach::Kind::corrupt, "the count is " + std::to_string(count_) + " after " +
                                        std::to_string(postings) + " postings");
    if (accounts_.empty() && postings == 0) return;  // Not set up yet.
    if (accounts_.size() != kAccounts || sum != kAccounts * kBalanceStart)
      breach(Breach::Kind::corrupt,
             std::to_string(accounts_.size()) + " accounts with a sum of " + std::to_string(sum));
    if (touches != 2 * postings)
      breach(Breach::Kind::corrupt, "accounts were touched " + std::to_string(touches) +
                                        " times by " + std::to_string(postings) + " postings");
  }

  void judge_last(unsigned lane, const Lane& state) {
    const auto known = truth_.find(lane);
    const LaneTruth truth = known != truth_.end() ? known->second : LaneTruth{};
    const std::uint64_t last = state.head.last;
    const std::string told = lane_name(lane) + " is at " + std::to_string(last) +
                             ", acknowledged " + std::to_string(truth.acked) +
                             (truth.in_flight ? " and one in flight" : "");
    if (last < truth.acked) breach(Breach::Kind::lost, told);
    if (last > truth.acked + (truth.in_flight ? 1 : 0)) breach(Breach::Kind::extra, told);
  }

  // The log entries and the stamped keys of a lane are exactly trimmed + 1 ... last.
  void judge_entries(unsigned lane, const Lane& state) {
    for (std::uint64_t number = state.head.trimmed + 1; number <= state.head.last; ++number) {
      if (!state.log.contains(number))
        breach(Breach::Kind::lost, posting_name(lane, number) + " has no log entry");
      if (verdict_.breaches.size() >= 20) return;
    }
    const std::uint64_t kept = state.head.last - state.head.trimmed;
    if (state.log.size() > kept)
      breach(Breach::Kind::extra, lane_name(lane) + " has more log entries than postings");
    std::uint64_t expected = state.head.trimmed;
    for (const auto& [mark, number] : state.stamped)
      if (number != ++expected)
        breach(Breach::Kind::corrupt,
               posting_name(lane, number) + " is stamped in place of " + std::to_string(expected));
    if (state.stamped.size() != kept)
      breach(Breach::Kind::corrupt, lane_name(lane) + " has " +
                                        std::to_string(state.stamped.size()) +
                                        " stamped keys for " + std::to_string(kept) + " postings");
    if (state.head.last == 0) return;
    if (!state.last || state.stamped.empty() || *state.last != state.stamped.back())
      breach(Breach::Kind::corrupt, lane_name(lane) + ": the stamped value is not of the last one");
  }

  // Whoever touched an account later has the larger stamp, in whichever lane.
  void judge_order() {
    std::map<std::pair<unsigned, std::uint64_t>, kv::Mark> marks;  // By account and version.
    std::set<kv::Mark> seen;
    for (const auto& [lane, state] : lanes_)
      for (const auto& [mark, number] : state.stamped) {
        if (!seen.insert(mark).second)
          breach(Breach::Kind::corrupt, posting_name(lane, number) + " shares its stamp");
        const auto entry = state.log.find(number);
        if (entry == state.log.end()) continue;
        for (const Touch& touch : entry->second.touches)
          if (!marks.emplace(std::pair(touch.account, touch.version), mark).second)
            breach(Breach::Kind::corrupt, posting_name(lane, number) + " overwrote another");
      }
    for (auto at = marks.begin(), next = at; at != marks.end(); at = next)
      if (++next != marks.end() && next->first.first == at->first.first &&
          next->second < at->second)
        breach(Breach::Kind::corrupt, "stamps of account " + std::to_string(at->first.first) +
                                          " do not increase with its version");
  }

  const Truth& truth_;
  Verdict verdict_;
  std::map<unsigned, Lane> lanes_;
  std::map<unsigned, Account> accounts_;
  std::uint64_t count_ = 0;
};

}  // namespace

const char* breach_name(Breach::Kind kind) {
  switch (kind) {
    case Breach::Kind::corrupt:
      return "corrupt";
    case Breach::Kind::lost:
      return "lost";
    default:
      return "extra";
  }
}

std::string Verdict::to_string() const {
  std::string text;
  for (const Breach& found : breaches)
    text += std::string(breach_name(found.kind)) + ": " + found.text + "\n";
  return text;
}

Verdict check_ledger(kv::Store& store, const Truth& truth) {
  return Checker(truth).check(store);
}

}  // namespace sluice::test
