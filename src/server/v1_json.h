// SPDX-License-Identifier: MIT
// Jobs, leases and queues as JSON, and back.
#pragma once

#include <sluice/queue.h>

#include "codec/json.h"
#include "server/fields.h"

namespace sluice::server {

using codec::json::Writer;

// Times ("..._at") are milliseconds since 1970, spans ("..._ms") milliseconds. A payload is a JSON
// value, stored as its text; bytes that are no JSON go as "payload_base64".
void put(Writer& writer, const queue::Job& job);
void put(Writer& writer, const queue::Lease& lease);
void put(Writer& writer, const queue::NewJob& job);
void put(Writer& writer, const queue::Counts& counts);
void put(Writer& writer, const queue::QueueConfig& config);

/// "reject", "keep", "replace".
std::string_view unique_policy_name(queue::UniquePolicy policy);

Result<queue::NewJob> parse_new_job(const Fields& fields, const std::string& queue);
/// "payload" or "payload_base64"; empty if neither is there.
Result<std::string> parse_payload(const Fields& fields);
/// Starts from `config`: what is not named stays.
Result<queue::QueueConfig> parse_config(const Fields& fields, queue::QueueConfig config);

/// A span of at least 0, if the member is there.
Result<std::optional<Duration>> optional_ms(const Fields& fields, std::string_view member);
std::int64_t to_ms(WallTime time);

}  // namespace sluice::server
