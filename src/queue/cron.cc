// SPDX-License-Identifier: MIT
#include "queue/cron.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace sluice::queue {
namespace {

namespace chrono = std::chrono;

constexpr std::string_view kExample =
    "; for example \"*/15 9-17 * * mon-fri\"; a range over the end is written as two: "
    "\"fri-sat,sun-mon\"";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t end = text.find_first_of(" \t");
    if (end > 0 && !text.empty()) words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

Failure refuse_cron(std::string why) {
  return error(Code::invalid_argument, "cron " + why.append(kExample));
}

bool is_name(std::string_view text, std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(text, name, {}, lower);
}

// What other programs know and this one does not, with what to write instead.
Status check_foreign(const std::vector<std::string_view>& fields) {
  if (fields.empty()) return {};
  if (is_name(fields[0], "@reboot")) {
    return refuse_cron(
        "\"@reboot\": a restart is not a planned time; enqueue the job where the program starts");
  }
  if (is_name(fields[0], "@every"))
    return refuse_cron("\"@every\": no such name; use a step, such as \"*/5 * * * *\"");
  if (fields.size() == 6 || fields.size() == 7) {
    return refuse_cron(
        "has " + std::to_string(fields.size()) +
        " fields; it takes five: minute hour day-of-month month day-of-week. Leave out "
        "seconds and years; for less than a minute, let each job enqueue the next one "
        "with a delay");
  }
  return {};
}

UtcMinute minute_of(Millis time) {
  return UtcMinute(chrono::minutes(time / 60'000));
}

Millis millis_of(UtcMinute minute) {
  return static_cast<Millis>(minute.time_since_epoch().count()) * 60'000;
}

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
  if (text.size() > kTextBytesMax) {
    return refuse_cron("is " + std::to_string(text.size()) + " bytes long, more than " +
                       std::to_string(kTextBytesMax) + "; use ranges and steps");
  }
  SLUICE_TRY(check_foreign(words_of(text)));
  const Result<CronExpression> expression = parse_cron(text);
  if (!expression)
    return error(expression.error().code(), expression.error().message() + std::string(kExample));
  return Cron(*expression);
}

Millis Cron::next_after(Millis time) const {
  const auto next = sluice::next_after(expression_, minute_of(time));
  return next ? millis_of(*next) : kNever;
}

std::optional<Millis> Cron::last_between(Millis after, Millis time) const {
  const auto first = sluice::next_after(expression_, minute_of(after));
  UtcMinute end = minute_of(time);
  if (!first || *first > end) return std::nullopt;
  // `last` is a planned time, and there is none later than `end` that counts. Half of what is left
  // between them is ruled out each time round.
  UtcMinute last = *first;
  while (last < end) {
    const UtcMinute middle = last + (end - last) / 2;
    const auto next = sluice::next_after(expression_, middle);
    if (next && *next <= end) {
      last = *next;
    } else {
      end = middle;
    }
  }
  return millis_of(last);
}

}  // namespace sluice::queue
