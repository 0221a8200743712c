// SPDX-License-Identifier: MIT
// What a program does with a job, whichever queue the job comes from.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::runtime {

/// A job in the hands of its handler. A view type: valid for the call only.
template <class T = std::string>
struct Work {
  std::string_view id = {};
  std::string_view correlation_id = {};
  const T& payload;
  std::uint32_t attempt = 1;  ///< 1 for the first.
  std::stop_token stop = {};  ///< Requested when the job should be cut short.
};

/// How a handler leaves a job.
class [[nodiscard]] Outcome {
 public:
  enum class Kind : std::uint8_t { done, retry, fail };

  static Outcome done() { return Outcome(Kind::done, {}, {}, {}); }
  /// Again, after so long or as the retry policy says, while that allows another attempt.
  static Outcome retry(std::string why, std::optional<Duration> after = {}) {
    return Outcome(Kind::retry, std::move(why), "retry", after);
  }
  /// Never again.
  static Outcome fail(std::string why) { return Outcome(Kind::fail, std::move(why), "fail", {}); }

  /// Success is done; a failure is tried again unless its code says that the same call fails again.
  Outcome(const Status& status)  // NOLINT(google-explicit-constructor)
      : Outcome(kind_of(status), status.message(), code_name(status.code()), {}) {}

  /// What the pool makes of an exception: another attempt.
  static Outcome thrown(std::string what, std::string type) {
    return Outcome(Kind::retry, std::move(what), std::move(type), {});
  }

  Kind kind() const { return kind_; }
  const std::string& why() const { return why_; }
  /// The code's name, the exception's type, or "retry" and "fail".
  const std::string& type() const { return type_; }
  std::optional<Duration> after() const { return after_; }

 private:
  Outcome(Kind kind, std::string why, std::string type, std::optional<Duration> after)
      : kind_(kind), why_(std::move(why)), type_(std::move(type)), after_(after) {}
  static Kind kind_of(const Status& status) {
    if (status.ok()) return Kind::done;
    return code_info(status.code()).retry == Retry::never ? Kind::fail : Kind::retry;
  }

  Kind kind_;
  std::string why_;
  std::string type_;
  std::optional<Duration> after_;
};

/// Called from any worker, several at once. It may throw: that is a failed attempt. With T =
/// std::string, the payload of a durable job, the same handler serves both kinds of queue.
template <class T = std::string>
using Handler = std::function<Outcome(const Work<T>&)>;

/// Makes a handler for one job: what it holds (a session, a connection) lives as long as that job
/// is in hand and is let go whatever happens.
template <class T = std::string>
using MakeHandler = std::function<Handler<T>()>;

}  // namespace sluice::runtime
