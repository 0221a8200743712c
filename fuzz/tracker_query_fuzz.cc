// SPDX-License-Identifier: MIT
// What is taken for an announce can be told to another tracker, which reads the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tracker/http_query.h"
#include "tracker/upstream_target.h"

namespace {

namespace tracker = sluice::tracker;

void check_announce(std::string_view target, tracker::QueryOptions options) {
  const auto read = tracker::read_http_announce(target, options);
  if (!read) {
    SLUICE_CHECK(read.error().code() == sluice::Code::invalid_argument);
    SLUICE_CHECK(!read.error().message().empty());
    return;
  }
  const tracker::Announce& first = read->announce;
  SLUICE_CHECK(first.endpoint.port != 0 || first.event == tracker::Event::stopped);
  const auto again = tracker::read_http_announce(
      tracker::upstream_target("/announce", first,
                               {.address = read->claimed, .tracker_id = read->tracker_id}),
      options);
  SLUICE_CHECK(again);
  const tracker::Announce& second = again->announce;
  SLUICE_CHECK(first.hash == second.hash && first.peer == second.peer);
  SLUICE_CHECK(first.endpoint == second.endpoint && first.event == second.event);
  SLUICE_CHECK(first.uploaded == second.uploaded && first.downloaded == second.downloaded);
  SLUICE_CHECK(first.left == second.left && first.wanted == second.wanted);
  SLUICE_CHECK(first.key == second.key && read->tracker_id == again->tracker_id);
  SLUICE_CHECK(read->claimed == again->claimed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view target(reinterpret_cast<const char*>(data), size);
  for (const bool spaces : {false, true}) {
    check_announce(target, {.plus_is_space = spaces});
    const auto hashes = tracker::read_http_scrape(target, {.plus_is_space = spaces});
    if (hashes) SLUICE_CHECK(!hashes->empty() && hashes->size() <= tracker::kScrapeHashesMax);
  }
  return 0;
}
