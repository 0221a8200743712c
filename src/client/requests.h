// SPDX-License-Identifier: MIT
// What is asked of a service: the paths and bodies of requests.
#pragma once

#include <sluice/queue.h>
#include <sluice/result.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice::client {

// All are `invalid_argument` if HTTP cannot carry what is asked.

/// "/v1/queues/NAME"; `more` is put behind it.
Result<std::string> queue_path(std::string_view queue, std::string_view more = {});
/// "/v1/queues/NAME/jobs/ID".
Result<std::string> job_path(std::string_view queue, std::string_view id,
                             std::string_view more = {});

Result<std::string> job_text(const queue::NewJob& job);

/// Jobs of one queue that go in one request, beginning with a given one.
struct JobsPart {
  std::size_t count = 0;
  /// The body. If the first job cannot be sent, it is a part of its own, and this says why.
  Result<std::string> body = {};
};
/// As many of the jobs as one request takes; `jobs` is not empty.
JobsPart first_part(std::span<const queue::NewJob> jobs);

/// Waits for `wait`, whatever the request says.
Result<std::string> claim_text(const queue::ClaimRequest& request, Duration wait);
Result<std::string> ack_text(const queue::AckRequest& request);
Result<std::string> fail_text(const queue::FailRequest& request);
Result<std::string> release_text(const queue::ReleaseRequest& request);
Result<std::string> extend_text(const queue::ExtendRequest& request);

}  // namespace sluice::client
