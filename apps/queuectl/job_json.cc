// SPDX-License-Identifier: MIT
// A job in JSON: which members there are, and what each may be.
#include <algorithm>
#include <array>
#include <functional>

#include "cli/duration.h"
#include "cli/suggest.h"
#include "cli/time.h"
#include "cli/visible.h"
#include "queuectl/job_spec.h"

namespace sluice::cli {
namespace {

using codec::json::Array;
using codec::json::Object;
using codec::json::Value;

Failure wrong(std::string_view name, const Value& value, std::string_view wanted) {
  return error(Code::invalid_argument, "\"" + std::string(name) + "\" is " + value.kind_name() +
                                           ": it must be " + std::string(wanted));
}

Result<std::string> string_of(std::string_view name, const Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  return wrong(name, value, "a string");
}

Result<std::int64_t> whole_of(std::string_view name, const Value& value, std::int64_t least,
                              std::int64_t most) {
  const auto* number = value.as<std::int64_t>();
  if (number == nullptr) return wrong(name, value, "a whole number");
  if (*number >= least && *number <= most) return *number;
  return error(Code::invalid_argument, "\"" + std::string(name) + "\" is " +
                                           std::to_string(*number) + ": it must be from " +
                                           std::to_string(least) + " to " + std::to_string(most));
}

/// A number of seconds, or text such as "1h30m".
Result<Duration> duration_of(std::string_view name, const Value& value) {
  Result<Duration> duration = error(Code::invalid_argument, "");
  if (const auto* whole = value.as<std::int64_t>())
    duration = parse_duration(std::to_string(*whole));
  else if (const auto* real = value.as<double>())
    duration = parse_duration(std::to_string(*real));
  else if (const auto* text = value.as<std::string>())
    duration = parse_duration(*text);
  else
    return wrong(name, value, "seconds, or text such as \"1h30m\"");
  if (!duration) return Failure{duration.error().with("\"" + std::string(name) + "\"")};
  return duration;
}

Result<std::vector<std::string>> strings_of(std::string_view name, const Value& value) {
  if (const auto* one = value.as<std::string>()) return std::vector{*one};
  const auto* array = value.as<Array>();
  if (array == nullptr) return wrong(name, value, "an array of strings");
  std::vector<std::string> all;
  for (const Value& element : *array) {
    SLUICE_LET(text, string_of(name, element));
    all.push_back(std::move(text));
  }
  return all;
}

Result<std::vector<std::uint8_t>> codes_of(std::string_view name, const Value& value) {
  const auto* array = value.as<Array>();
  if (array == nullptr) return wrong(name, value, "an array of exit codes");
  std::vector<std::uint8_t> codes;
  for (const Value& element : *array) {
    SLUICE_LET(code, whole_of(name, element, 0, 255));
    codes.push_back(static_cast<std::uint8_t>(code));
  }
  return codes;
}

Result<bool> flag_of(std::string_view name, const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag;
  return wrong(name, value, "true or false");
}

template <class T>
Status put(Result<T> from, std::optional<T>& to) {
  if (from) to = std::move(*from);
  return status_of(from);
}
template <class T>
Status put(Result<T> from, T& to) {
  if (from) to = std::move(*from);
  return status_of(from);
}

Status read_environment(std::string_view name, const Value& value, JobSpec& spec) {
  const auto* object = value.as<Object>();
  if (object == nullptr) return wrong(name, value, "an object of strings");
  for (const auto& member : *object) {
    SLUICE_LET(text, string_of(member.name, member.value));
    spec.set.push_back(member.name + "=" + text);
  }
  return {};
}

Status read_base(std::string_view name, const Value& value, JobSpec& spec) {
  const auto* whole = value.as<std::int64_t>();
  const auto* real = value.as<double>();
  if (whole == nullptr && real == nullptr) return wrong(name, value, "a number");
  const double base = whole != nullptr ? static_cast<double>(*whole) : *real;
  if (base != 0 && (base < 1 || base > 1'000))
    return error(Code::invalid_argument, "\"backoff_base\" must be 0, or from 1 to 1000");
  spec.backoff_base = base;
  return {};
}

Status read_time(std::string_view name, const Value& value, WallTime now, JobSpec& spec) {
  if (value.as<std::monostate>() != nullptr) return {};
  SLUICE_LET(text, string_of(name, value));
  auto time = parse_time(text, now);
  if (!time) return time.error().with("\"" + std::string(name) + "\"");
  spec.at = *time;
  return {};
}

Status read_number(std::string_view name, const Value& value, std::int64_t least, std::int64_t most,
                   std::optional<std::uint32_t>& to) {
  SLUICE_LET(number, whole_of(name, value, least, most));
  to = static_cast<std::uint32_t>(number);
  return {};
}

Status read_priority(std::string_view name, const Value& value, JobSpec& spec) {
  SLUICE_LET(number, whole_of(name, value, INT32_MIN, INT32_MAX));
  spec.priority = static_cast<std::int32_t>(number);
  return {};
}

struct MemberRule {
  std::string_view name;
  Status (*read)(std::string_view name, const Value& value, WallTime now, JobSpec& spec);
};

#define SLUICE_MEMBER(text, ...)                                              \
  MemberRule {                                                                \
    text,                                                                     \
        [](std::string_view n, const Value& v, [[maybe_unused]] WallTime now, \
           [[maybe_unused]] JobSpec& s) -> Status { return __VA_ARGS__; }     \
  }

constexpr std::array<MemberRule, 31> kMembers{{
    SLUICE_MEMBER("command", put(string_of(n, v), s.text)),
    SLUICE_MEMBER("argv", put(strings_of(n, v), s.argv)),
    SLUICE_MEMBER("id", put(string_of(n, v), s.id)),
    SLUICE_MEMBER("queue", put(string_of(n, v), s.queue)),
    SLUICE_MEMBER("priority", read_priority(n, v, s)),
    SLUICE_MEMBER("delay", put(duration_of(n, v), s.delay)),
    SLUICE_MEMBER("at", read_time(n, v, now, s)),
    SLUICE_MEMBER("run_at", read_time(n, v, now, s)),
    SLUICE_MEMBER("timeout", put(duration_of(n, v), s.timeout)),
    SLUICE_MEMBER("kill_after", put(duration_of(n, v), s.kill_after)),
    SLUICE_MEMBER("max_retries", read_number(n, v, 0, queue::kAttemptsMax, s.max_retries)),
    SLUICE_MEMBER("backoff_base", read_base(n, v, s)),
    SLUICE_MEMBER("ttl", put(duration_of(n, v), s.ttl)),
    SLUICE_MEMBER("after", put(strings_of(n, v), s.after)),
    SLUICE_MEMBER("after_any", put(strings_of(n, v), s.after_any)),
    SLUICE_MEMBER("slots", read_number(n, v, 1, worker::kSlotsMax, s.slots)),
    SLUICE_MEMBER("env", read_environment(n, v, s)),
    SLUICE_MEMBER("clean_env", put(flag_of(n, v), s.clean_env)),
    SLUICE_MEMBER("cwd", put(string_of(n, v), s.cwd)),
    SLUICE_MEMBER("label", put(string_of(n, v), s.label)),
    SLUICE_MEMBER("group", put(string_of(n, v), s.group)),
    SLUICE_MEMBER("hold", put(flag_of(n, v), s.hold)),
    SLUICE_MEMBER("dedup_key", put(string_of(n, v), s.dedup_key)),
    SLUICE_MEMBER("retry_on", put(codes_of(n, v), s.retry_on)),
    SLUICE_MEMBER("no_retry_on", put(codes_of(n, v), s.no_retry_on)),
    SLUICE_MEMBER("on_done", put(string_of(n, v), s.on_done)),
    SLUICE_MEMBER("index", put(whole_of(n, v, INT64_MIN, INT64_MAX), s.index)),
    // What a listing says of a job, and nobody can choose.
    SLUICE_MEMBER("state", put(string_of(n, v), s.state)),
    SLUICE_MEMBER("attempts", status_of(whole_of(n, v, 0, INT64_MAX))),
    SLUICE_MEMBER("created_at", status_of(string_of(n, v))),
    SLUICE_MEMBER("updated_at", status_of(string_of(n, v))),
}};
#undef SLUICE_MEMBER

Status read_member(const codec::json::Member& member, WallTime now, JobSpec& spec) {
  std::string name = member.name;
  std::ranges::replace(name, '-', '_');
  const auto rule = std::ranges::find(kMembers, name, &MemberRule::name);
  if (rule != kMembers.end()) return rule->read(member.name, member.value, now, spec);
  std::vector<std::string_view> names;
  for (const MemberRule& known : kMembers) names.push_back(known.name);
  const std::string meant = did_you_mean(name, names);
  return error(Code::invalid_argument,
               "a job has no member " + in_quotes(member.name) + ": " +
                   (meant.empty() ? "see queuectl enqueue --help for those it has" : meant));
}

}  // namespace

Status read_json(const Value& value, WallTime now, JobSpec& spec) {
  const auto* object = value.as<Object>();
  if (object == nullptr)
    return error(Code::invalid_argument,
                 std::string("a job is a JSON object, and this is ") + value.kind_name());
  for (const auto& member : *object) SLUICE_TRY(read_member(member, now, spec));
  if (spec.text.empty() && spec.argv.empty())
    return error(Code::invalid_argument,
                 "the job has no \"command\": write {\"command\": \"echo hi\"}");
  if (!spec.text.empty() && !spec.argv.empty())
    return error(Code::invalid_argument, "a job has \"command\" or \"argv\", not both");
  if (spec.delay && spec.at)
    return error(Code::invalid_argument, "\"delay\" and \"run_at\" exclude each other");
  return {};
}

}  // namespace sluice::cli
