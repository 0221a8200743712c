// SPDX-License-Identifier: MIT
// How a retry policy is stored, in a queue's record and in a job's.
#pragma once

#include <sluice/job.h>
#include <sluice/result.h>

#include <string>
#include <string_view>

namespace sluice::queue {

std::string encode(const RetryPolicy& policy);
Result<RetryPolicy> decode_retry(std::string_view bytes);

}  // namespace sluice::queue
