// SPDX-License-Identifier: MIT
// Whatever an upstream answers, what is taken from it is within its limits, and a refusal has
// nothing beside it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "tracker/upstream_answer.h"

namespace {

namespace tracker = sluice::tracker;
using namespace std::chrono_literals;

constexpr tracker::UpstreamLimits kLimits{.peers_max = 3};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto answer =
      tracker::read_upstream_answer({reinterpret_cast<const char*>(data), size}, kLimits);
  if (!answer) {
    SLUICE_CHECK(answer.error().code() == sluice::Code::invalid_argument);
    return 0;
  }
  const std::size_t four = answer->peers.v4.size();
  const std::size_t six = answer->peers.v6.size();
  SLUICE_CHECK(four % tracker::kCompactBytes4 == 0 && four <= 3 * tracker::kCompactBytes4);
  SLUICE_CHECK(six % tracker::kCompactBytes6 == 0 && six <= 3 * tracker::kCompactBytes6);
  for (const auto& interval : {answer->interval, answer->min_interval})
    SLUICE_CHECK(!interval || (*interval > 0s && *interval <= tracker::kUpstreamIntervalMax));
  SLUICE_CHECK(answer->warning.size() <= tracker::kUpstreamTextBytesMax);
  SLUICE_CHECK(answer->tracker_id.size() <= tracker::kTrackerIdBytesMax);
  if (answer->retry) {
    SLUICE_CHECK(answer->failure);
    SLUICE_CHECK(answer->retry->never ? answer->retry->after == 0min : answer->retry->after > 0min);
    SLUICE_CHECK(answer->retry->after <= tracker::kUpstreamRetryMax);
  }
  if (answer->failure) {
    SLUICE_CHECK(answer->failure->size() <= tracker::kUpstreamTextBytesMax);
    SLUICE_CHECK(answer->peers.size() == 0 && !answer->complete && !answer->incomplete);
  }
  return 0;
}
