// SPDX-License-Identifier: MIT
// An answer means the same however its bytes come, and its body is never larger than its limit.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/http_answer.h"

namespace {

using sluice::net::HttpAnswer;

constexpr sluice::net::AnswerLimits kLimits{.head_bytes_max = 500, .body_bytes_max = 100};

HttpAnswer read(std::string_view text, std::size_t step, std::string_view method) {
  HttpAnswer answer(method, kLimits);
  for (std::size_t at = 0; at < text.size(); at += step) answer.take(text.substr(at, step));
  SLUICE_CHECK(answer.response().body.size() <= kLimits.body_bytes_max);
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view method : {"GET", "HEAD"}) {
    HttpAnswer whole = read(text, size == 0 ? 1 : size, method);
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}}) {
      HttpAnswer pieces = read(text, step, method);
      SLUICE_CHECK(pieces.state() == whole.state() && pieces.begun() == whole.begun());
      SLUICE_CHECK(pieces.keeps_connection() == whole.keeps_connection());
      SLUICE_CHECK(pieces.response().status == whole.response().status);
      if (whole.state() != HttpAnswer::State::wrong)
        SLUICE_CHECK(pieces.response().body == whole.response().body);
    }
    whole.end();
    SLUICE_CHECK(whole.state() != HttpAnswer::State::more);
    if (whole.state() == HttpAnswer::State::done) SLUICE_CHECK(whole.response().status >= 200);
    if (whole.state() == HttpAnswer::State::wrong) SLUICE_CHECK(!whole.why().empty());
  }
  return 0;
}
