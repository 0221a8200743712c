// SPDX-License-Identifier: MIT
#include "client/answers.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "codec/base64.h"
#include "codec/json.h"

namespace sluice::client {
namespace {

using codec::json::Array;
using codec::json::Raw;
using codec::json::Value;

Failure not_understood() {
  return error(Code::commit_unknown,
               "the answer is none that sluiced gives; check that the URL leads to it");
}

Result<Value> parse(std::string_view body) {
  auto value = codec::json::parse(body, {.raw = "payload"});
  if (!value) return not_understood();
  return std::move(*value);
}

WallTime to_wall(std::int64_t ms) {
  return WallTime(std::chrono::milliseconds(ms));
}

/// Reads members. One that is missing though it must be there, or is something else, makes it
/// no longer good; whoever has read all of them looks at that once.
class Members {
 public:
  explicit Members(const Value& value) : value_(value) {}

  bool good() const { return good_; }

  std::string text(std::string_view name, bool required = false) {
    const std::string* const text = find<std::string>(name, required);
    return text != nullptr ? *text : std::string();
  }
  template <class Number>
  Number number(std::string_view name) {
    const std::int64_t* const number = find<std::int64_t>(name, true);
    if (number == nullptr || !std::in_range<Number>(*number)) return bad<Number>();
    return static_cast<Number>(*number);
  }
  double real(std::string_view name) {
    const Value* const value = value_.find(name);
    if (value != nullptr && value->as<double>() != nullptr) return *value->as<double>();
    return static_cast<double>(number<std::int64_t>(name));
  }
  std::optional<WallTime> time(std::string_view name) {
    const std::int64_t* const ms = find<std::int64_t>(name, false);
    if (ms == nullptr) return std::nullopt;
    // Beyond this it is no time that a clock could tell.
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000;
    if (*ms > kMost || *ms < -kMost) return bad<WallTime>();
    return to_wall(*ms);
  }
  WallTime required_time(std::string_view name) {
    const auto told = time(name);
    return told ? *told : bad<WallTime>();
  }
  Duration span(std::string_view name) { return required_time(name).time_since_epoch(); }
  std::optional<std::string> payload() {
    if (const Raw* const raw = find<Raw>("payload", false)) return std::string(raw->text);
    const std::string* const text = find<std::string>("payload_base64", false);
    if (text == nullptr) return std::nullopt;
    auto bytes = codec::from_base64(*text);
    if (!bytes) good_ = false;
    return bytes;
  }
  /// Of an enum whose names run from `first` to `last`.
  template <class Enum>
  Enum named(std::string_view name, const char* (*name_of)(Enum), int first, int last) {
    const std::string word = text(name, true);
    for (int i = first; i <= last; ++i)
      if (word == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
    return bad<Enum>();
  }
  const Array& array(std::string_view name, bool required) {
    static const Array kNone;
    const Array* const array = find<Array>(name, required);
    return array != nullptr ? *array : kNone;
  }
  const Value* object(std::string_view name) const { return value_.find(name); }

 private:
  template <class T>
  const T* find(std::string_view name, bool required) {
    const Value* const value = value_.find(name);
    const bool missing = value == nullptr || value->kind() == codec::json::Kind::null;
    const T* const found = missing ? nullptr : value->as<T>();
    if (found == nullptr && (required || !missing)) good_ = false;
    return found;
  }
  template <class T>
  T bad() {
    good_ = false;
    return T();
  }

  const Value& value_;
  bool good_ = true;
};

std::optional<Code> code_from_name(std::string_view name) {
  for (std::size_t i = 1; i < kCodeCount; ++i)
    if (name == code_name(static_cast<Code>(i))) return static_cast<Code>(i);
  return std::nullopt;
}

/// {"error": {"code": ..., "message": ...}}, if it is that.
std::optional<Status> failure_of(const Value& value) {
  const Value* const said = value.find("error");
  if (said == nullptr) return std::nullopt;
  Members members(*said);
  const auto code = code_from_name(members.text("code", true));
  std::string message = members.text("message", true);
  if (!members.good() || !code) return std::nullopt;
  return Status(*code, std::move(message));
}

Code code_of(unsigned status) {
  switch (status) {
    case 401:
    case 403:
      return Code::permission_denied;
    case 404:
      return Code::not_found;
    case 413:
    case 429:
      return Code::limit_exceeded;
    case 503:
      return Code::unavailable;
    case 507:
      return Code::storage_full;
    default:
      // A proxy may have lost an answer on the way back.
      return status >= 500 ? Code::commit_unknown : Code::invalid_argument;
  }
}

queue::RetryPolicy retry_of(Members members, bool& good) {
  queue::RetryPolicy retry;
  retry.attempts_max = members.number<std::uint32_t>("attempts_max");
  retry.base = members.span("base_ms");
  retry.factor = members.real("factor");
  retry.cap = members.span("cap_ms");
  retry.jitter = members.real("jitter");
  good = good && members.good();
  return retry;
}

Result<queue::Attempt> attempt_of(const Value& value) {
  Members members(value);
  queue::Attempt attempt{.number = members.number<std::uint32_t>("number"),
                         .started = members.required_time("started_at"),
                         .ended = members.required_time("ended_at"),
                         .worker = members.text("worker"),
                         .outcome = members.named("outcome", queue::outcome_name, 1, 5),
                         .error = members.text("error")};
  if (!members.good()) return not_understood();
  return attempt;
}

Result<queue::Lease> lease_of(const Value& value) {
  Members members(value);
  queue::Lease lease{.queue = members.text("queue", true),
                     .id = members.text("id", true),
                     .group = members.text("group"),
                     .payload = members.payload().value_or(""),
                     .deadline = members.required_time("deadline_at"),
                     .attempt = members.number<std::uint32_t>("attempt"),
                     .priority = members.number<std::int32_t>("priority"),
                     .batch = members.text("batch"),
                     .schedule = members.text("schedule"),
                     .planned = members.time("planned_at")};
  const auto token = queue::Token::parse(members.text("token", true));
  if (!members.good() || !token) return not_understood();
  lease.token = *token;
  return lease;
}

}  // namespace

Result<std::string> read_id(std::string_view body) {
  SLUICE_LET(value, parse(body));
  Members members(value);
  std::string id = members.text("id", true);
  if (!members.good()) return not_understood();
  return id;
}

Result<std::vector<Result<std::string>>> read_ids(std::string_view body, std::size_t count) {
  SLUICE_LET(value, parse(body));
  Members members(value);
  std::vector<Result<std::string>> ids;
  for (const Value& one : members.array("results", true)) {
    if (auto why = failure_of(one)) {
      ids.emplace_back(tl::unexpected(std::move(*why)));
      continue;
    }
    Members result(one);
    ids.emplace_back(result.text("id", true));
    if (!result.good()) return not_understood();
  }
  if (!members.good() || ids.size() != count) return not_understood();
  return ids;
}

Result<std::vector<queue::Lease>> read_leases(std::string_view body) {
  SLUICE_LET(value, parse(body));
  Members members(value);
  std::vector<queue::Lease> leases;
  for (const Value& one : members.array("leases", true)) {
    SLUICE_LET(lease, lease_of(one));
    leases.push_back(std::move(lease));
  }
  if (!members.good()) return not_understood();
  return leases;
}

Result<WallTime> read_deadline(std::string_view body) {
  SLUICE_LET(value, parse(body));
  Members members(value);
  const WallTime deadline = members.required_time("deadline_at");
  if (!members.good()) return not_understood();
  return deadline;
}

Result<queue::Job> read_job(std::string_view body) {
  SLUICE_LET(value, parse(body));
  Members members(value);
  queue::Job job;
  bool good = true;
  job.queue = members.text("queue", true);
  job.id = members.text("id", true);
  job.group = members.text("group");
  job.lane = members.named("lane", queue::lane_name, 1, queue::kLaneCount);
  job.priority = members.number<std::int32_t>("priority");
  job.attempts = members.number<std::uint32_t>("attempts");
  job.lapses = members.number<std::uint32_t>("lapses");
  job.enqueued = members.required_time("enqueued_at");
  job.due = members.time("due_at");
  job.expires = members.time("expires_at");
  job.claimed = members.time("claimed_at");
  job.deadline = members.time("deadline_at");
  job.finished = members.time("finished_at");
  job.worker = members.text("worker");
  if (members.object("reason") != nullptr)
    job.reason = members.named("reason", queue::reason_name, 1, 5);
  job.error = members.text("error");
  job.progress = members.text("progress");
  job.result = members.text("result");
  job.payload_bytes = members.number<std::size_t>("payload_bytes");
  job.payload = members.payload();
  if (const Value* const retry = members.object("retry"))
    job.retry = retry_of(Members(*retry), good);
  job.unique = members.text("unique");
  job.batch = members.text("batch");
  job.schedule = members.text("schedule");
  job.planned = members.time("planned_at");
  for (const Value& one : members.array("history", false)) {
    SLUICE_LET(attempt, attempt_of(one));
    job.history.push_back(std::move(attempt));
  }
  if (!members.good() || !good) return not_understood();
  return job;
}

Result<queue::Counts> read_counts(std::string_view body) {
  SLUICE_LET(value, parse(body));
  const Value* const told = value.find("counts");
  if (told == nullptr) return not_understood();
  Members members(*told);
  queue::Counts counts;
  for (std::size_t i = 1; i <= queue::kLaneCount; ++i) {
    const auto lane = static_cast<queue::Lane>(i);
    counts.of(lane) = members.number<std::uint64_t>(queue::lane_name(lane));
  }
  if (!members.good()) return not_understood();
  return counts;
}

Status read_failure(unsigned status, std::string_view body) {
  const auto value = codec::json::parse(body);
  if (value)
    if (auto said = failure_of(*value)) return std::move(*said);
  return Status(code_of(status), "the answer is " + std::to_string(status) +
                                     " and says no more; check that the URL leads to sluiced");
}

}  // namespace sluice::client
