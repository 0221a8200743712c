// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "migrate_ground.h"
#include "migrate_parts.h"

namespace sluice::bench {

Status measure_chain(const Part& part) {
  constexpr std::uint64_t kDepth = 1'000;
  SLUICE_LET(ground, Ground::make(part, "chain"));
  const Comparing wish{.src = ground / "src",
                       .dst = ground / "dst",
                       .ledger = ground.ledger("chain"),
                       .threads = default_threads(),
                       .same = true};
  SLUICE_TRY(ground.run_self({kGrowCommand, "chain", wish.src, wish.dst, std::to_string(kDepth)}));
  std::vector<double> seconds, cpu_seconds;
  for (int i = 0; i < rounds_of(part); ++i) {
    SLUICE_LET(compared, ground.compare(wish));
    SLUICE_TRY(Ground::remove(wish.ledger));
    if (compared.summary.entries < 2 * kDepth)
      return error(Code::corrupt, fmt::format("{} entries were found", compared.summary.entries));
    seconds.push_back(compared.ended.cost.wall_seconds);
    cpu_seconds.push_back(compared.ended.cost.cpu_seconds);
  }
  part.report.add(
      {.what = fmt::format("{} folders in one another, on both sides: s (CPU s)",
                           number(static_cast<double>(kDepth))),
       .ours = fmt::format("{} ({})", number(median(seconds)), number(median(cpu_seconds))),
       .figure = median(seconds),
       .bar = Bar{"chain_s", Bar::Kind::at_most, 0.2}});
  return {};
}

}  // namespace sluice::bench
