// SPDX-License-Identifier: MIT
// What callers may ask for: every limit of sluice/job.h is enforced here. Each failure is
// `invalid_argument` and says what is allowed.
#pragma once

#include <sluice/job.h>
#include <sluice/queue.h>
#include <sluice/result.h>

#include <cstddef>
#include <string_view>

namespace sluice::queue {

Status check_duration(std::string_view what, Duration value, Duration least, Duration most);
Status check_lease(Duration lease);
Status check_retry(const RetryPolicy& policy);
Status check_config(const QueueConfig& config);
Status check_payload(std::string_view payload);
/// All of a new job that can be checked without its queue.
Status check_new_job(const NewJob& job);
/// A job that is kept to be enqueued later.
Status check_template(const NewJob& job);
Status check_claim(const ClaimRequest& request);
Status check_page(std::size_t limit);

}  // namespace sluice::queue
