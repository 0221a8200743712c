// SPDX-License-Identifier: MIT
// How Sluice reports what went wrong: expected failures are values, never exceptions.
//
// A function that can fail returns a Status, or a Result<T> when it also has something to return.
// The codes are a closed list. code_info() gives, for each, what a caller may do about it, and the
// one HTTP status and the one exit code that every program maps it to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace sluice {

enum class Code : std::uint8_t {
  ok,
  invalid_argument,   ///< The call is wrong and will stay wrong.
  not_found,          ///< No such job, queue, key or file.
  already_exists,     ///< The name is taken.
  permission_denied,  ///< The caller may not do this.
  lease_lost,         ///< The job has moved on; this worker no longer holds it.
  conflict,           ///< Another transaction, or the job's present lane, is in the way. No effect.
  limit_exceeded,     ///< A rate, size or count limit is reached. No effect.
  storage_full,       ///< No room left for new data; deletes and acks still work.
  unavailable,        ///< The store cannot be reached at this moment.
  deadline_exceeded,  ///< Took too long and was given up. No effect.
  cancelled,          ///< The caller asked to stop.
  commit_unknown,     ///< The commit may or may not have happened.
  corrupt,            ///< Stored bytes do not make sense.
  io_error,           ///< The disk or the kernel failed; the store must be reopened.
};
inline constexpr std::size_t kCodeCount = 15;

/// What a caller may do after a failure.
enum class Retry : std::uint8_t {
  never,        ///< The same call fails again: change the call, or stop.
  at_once,      ///< Nothing happened; the same call may succeed now.
  later,        ///< Nothing happened; back off, then make the same call.
  when_roomy,   ///< Nothing happened; make room first (ack, cancel, purge, grow the store).
  same_op_id,   ///< May have happened: repeat with the same operation id, or look.
  after_reopen  ///< Close the store, find the cause, open it again.
};

struct CodeInfo {
  Code code;
  const char* name;  ///< The stable spelling used in JSON, logs and metrics.
  Retry retry;
  int http_status;
  int exit_code;
  const char* advice;  ///< What to do next, as one sentence for a person.
};

/// The row for `code`; constant time, never fails.
const CodeInfo& code_info(Code code);
inline const char* code_name(Code code) {
  return code_info(code).name;
}

/// Success, or a code with a message that says what to do next. Cheap to move; success holds no
/// heap memory. Must be looked at: the type is [[nodiscard]].
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// `code` must not be Code::ok.
  Status(Code code, std::string message);

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The same failure with what was being done put in front: "ack job-7: lease_lost ...".
  /// Success stays success.
  Status with(std::string_view doing, std::string_view what = {}) const;

  /// "ok", or "code: message".
  std::string to_string() const;

  friend bool operator==(const Status& a, const Status& b) { return a.code_ == b.code_; }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

template <class T>
using Result = tl::expected<T, Status>;

/// A failure on its way out of a function: converts to Status and to any Result<T>, so that
/// `return error(Code::not_found, "...")` works in both kinds of function.
struct Failure {
  Status status;
  operator Status() && { return std::move(status); }  // NOLINT(google-explicit-constructor)
  template <class T>
  operator Result<T>() && {  // NOLINT(google-explicit-constructor)
    return tl::unexpected<Status>(std::move(status));
  }
};

inline Failure error(Code code, std::string message) {
  return Failure{Status(code, std::move(message))};
}

inline Status status_of(Status status) {
  return status;
}
template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : result.error();
}

}  // namespace sluice

/// Leaves the function with the failure of `expression` (a Status or a Result), if it failed. The
/// expression may hold a lambda that uses it too: hence the counted name.
#define SLUICE_TRY(expression) SLUICE_TRY_COUNTED(expression, __COUNTER__)
#define SLUICE_TRY_COUNTED(expression, number) SLUICE_TRY_NUMBERED(expression, number)
#define SLUICE_TRY_NUMBERED(expression, number)                        \
  do {                                                                 \
    if (auto sluice_status_##number = ::sluice::status_of(expression); \
        !sluice_status_##number.ok())                                  \
      return ::sluice::Failure{std::move(sluice_status_##number)};     \
  } while (false)

/// Declares `name` as the value of the Result `expression`, or leaves the function with its
/// failure.
#define SLUICE_LET(name, expression)                                              \
  auto name##_result = (expression);                                              \
  if (!name##_result) return ::sluice::Failure{std::move(name##_result).error()}; \
  auto& name = *name##_result
