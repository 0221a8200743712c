// SPDX-License-Identifier: MIT
#include "sluice-migrate/summary.h"

#include <algorithm>
#include <numeric>

#include "cli/size.h"
#include "sluice-migrate/context.h"

namespace sluice::cli {
namespace {

using migrate::Side;
using migrate::Tally;
using migrate::TraversalStatus;
using migrate::Verdict;

constexpr std::size_t kNameWidth = 13;
constexpr std::size_t kNumberWidth = 12;

template <std::size_t N>
void add(std::array<std::uint64_t, N>& counts, std::uint8_t which, std::int64_t amount) {
  // A counter is never below zero; one of a kind that this program does not know is left out.
  if (which < N) counts.at(which) += static_cast<std::uint64_t>(amount);
}

void add_tally(Summary& summary, const migrate::TallyKey& key, std::int64_t amount) {
  switch (key.what) {
    case Tally::src:
      return add(summary.traversal[0], key.which, amount);
    case Tally::dst:
      return add(summary.traversal[1], key.which, amount);
    case Tally::verdict:
      return add(summary.verdicts, key.which, amount);
    case Tally::verdict_bytes:
      return add(summary.verdict_bytes, key.which, amount);
    case Tally::copy_files:
      return add(summary.copy_files, key.which, amount);
    case Tally::copy_folders:
      return add(summary.copy_folders, key.which, amount);
    case Tally::copy_bytes:
      return add(summary.copy_bytes, key.which, amount);
    case Tally::drift:
      return add(summary.drift, key.which, amount);
    case Tally::dst_bytes:
      summary.dst_bytes += static_cast<std::uint64_t>(amount);
      return;
  }
}

std::string line(std::string_view name, std::uint64_t number, std::string_view rest = "") {
  std::string left(name);
  left.resize(std::max(kNameWidth, left.size() + 2), ' ');
  std::string count = format_count(number);
  if (count.size() < kNumberWidth) count.insert(0, kNumberWidth - count.size(), ' ');
  return left + count + std::string(rest) + "\n";
}

}  // namespace

std::uint64_t Summary::entries(Side side) const {
  const auto& counts = traversal.at(static_cast<std::size_t>(side));
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t Summary::src_bytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < kVerdicts; ++i)
    if (static_cast<Verdict>(i) != Verdict::extra) bytes += verdict_bytes.at(i);
  return bytes;
}

std::uint64_t Summary::pending() const {
  return status(Side::src, TraversalStatus::pending) + status(Side::dst, TraversalStatus::pending);
}

std::uint64_t Summary::not_read() const {
  std::uint64_t count = 0;
  for (const Side side : {Side::src, Side::dst})
    count += status(side, TraversalStatus::failed) + status(side, TraversalStatus::unknown);
  return count;
}

bool Summary::has_unknown() const {
  return verdict(Verdict::unknown) != 0 || not_read() != 0;
}

bool Summary::has_differences() const {
  return std::ranges::any_of(std::array{Verdict::attributes, Verdict::content, Verdict::missing,
                                        Verdict::extra, Verdict::clash, Verdict::newer},
                             [this](Verdict which) { return verdict(which) != 0; });
}

Result<Summary> read_summary(kv::Store& store) {
  Summary summary;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    summary = {};
    SLUICE_LET(settings, migrate::read_settings(reader));
    if (!settings) return {Code::not_found, "there is no ledger here"};
    summary.settings = *std::move(settings);
    SLUICE_LET(tallies, migrate::read_tallies(reader));
    summary.tallies = std::move(tallies);
    return {};
  }));
  for (const auto& [key, amount] : summary.tallies) add_tally(summary, key, amount);
  return summary;
}

int compare_exit_code(const Summary& summary) {
  if (summary.has_unknown()) return kIncomplete;
  return summary.has_differences() ? kDifferent : kSame;
}

std::string summary_text(const Summary& summary) {
  std::string text;
  for (std::size_t i = 0; i < kVerdicts; ++i)
    text += line(migrate::verdict_name(static_cast<Verdict>(i)), summary.verdicts.at(i));
  if (summary.not_read() != 0) text += line("not read", summary.not_read());
  text +=
      line("source", summary.entries(Side::src), " entries, " + format_size(summary.src_bytes()));
  return text + line("destination", summary.entries(Side::dst),
                     " entries, " + format_size(summary.dst_bytes));
}

void put_summary(codec::json::Writer& writer, const Summary& summary) {
  for (std::size_t i = 0; i < kVerdicts; ++i)
    writer.name(migrate::verdict_name(static_cast<Verdict>(i))).number(summary.verdicts.at(i));
  writer.name("not_read").number(summary.not_read());
  writer.name("src").object().name("path").string(summary.settings.src);
  writer.name("entries").number(summary.entries(Side::src));
  writer.name("bytes").number(summary.src_bytes()).end_object();
  writer.name("dst").object().name("path").string(summary.settings.dst);
  writer.name("entries").number(summary.entries(Side::dst));
  writer.name("bytes").number(summary.dst_bytes).end_object();
  writer.name("finished").boolean(summary.pending() == 0);
}

}  // namespace sluice::cli
