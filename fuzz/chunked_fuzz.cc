// SPDX-License-Identifier: MIT
// A chunked body means the same however it comes, and is never larger than its limit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/chunked.h"

namespace {

using sluice::net::ChunkedBody;

constexpr std::size_t kMost = 1000;

struct Outcome {
  ChunkedBody::State state = ChunkedBody::State::more;
  std::string body = {};
  std::size_t taken = 0;
};

Outcome read(std::string_view text, std::size_t step) {
  ChunkedBody chunks(kMost);
  Outcome outcome;
  std::string buffer;
  for (std::size_t at = 0; at < text.size() && chunks.state() == ChunkedBody::State::more;
       at += step) {
    buffer += text.substr(at, step);
    const std::size_t taken = chunks.take(buffer, outcome.body);
    SLUICE_CHECK(taken <= buffer.size());
    buffer.erase(0, taken);
    outcome.taken += taken;
  }
  outcome.state = chunks.state();
  SLUICE_CHECK(outcome.body.size() <= kMost);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Outcome whole = read(text, size == 0 ? 1 : size);
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
    const Outcome pieces = read(text, step);
    SLUICE_CHECK(pieces.state == whole.state && pieces.body == whole.body);
    if (whole.state == ChunkedBody::State::done) SLUICE_CHECK(pieces.taken == whole.taken);
  }
  return 0;
}
