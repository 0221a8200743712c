// SPDX-License-Identifier: MIT
// What an upstream's answer over HTTP comes to.
#pragma once

#include <sluice/result.h>

#include <string>
#include <string_view>

#include "net/http_answer.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

/// By status: 200 is ok or, if it gives a failure reason, refused; 400, 403 and 404 are refused;
/// 429 and 503 are busy, for as many seconds as Retry-After says, at most kUpstreamIntervalMax.
/// Everything else is unreachable, and so is a 200 that is compressed or no dictionary.
UpstreamResult outcome_of(const net::ClientResponse& answer);

/// 301, 302, 303, 307 and 308.
bool is_redirect(unsigned status);

/// The URL that an answer to a request of `url` redirects to. `invalid_argument` if it names none
/// of http or https: it may be absolute or begin with one or two slashes.
Result<std::string> redirect_of(const net::ClientResponse& answer, std::string_view url);

}  // namespace sluice::tracker
