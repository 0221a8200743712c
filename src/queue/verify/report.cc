// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include <fmt/format.h>

namespace sluice::queue {
namespace {

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (byte < 0x20 || byte == 0x7f)
      quoted += fmt::format("\\u{:04x}", byte);
    else
      quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string VerifyReport::to_json() const {
  std::string list;
  for (const Breach& breach : breaches)
    list += fmt::format("{}{{\"invariant\":{},\"key\":{},\"what\":{}}}", list.empty() ? "" : ",",
                        json_string(breach.invariant), json_string(breach.key),
                        json_string(breach.what));
  return fmt::format(
      "{{\"clean\":{},\"queues\":{},\"groups\":{},\"jobs\":{},\"batches\":{},\"schedules\":{},"
      "\"keys\":{},\"breach_count\":{},\"breaches\":[{}]}}",
      clean(), queues, groups, jobs, batches, schedules, keys, breach_count, list);
}

std::string VerifyReport::to_text() const {
  std::string text = fmt::format(
      "{} queues, {} groups, {} jobs, {} batches, {} schedules, {} keys: {}\n", queues, groups,
      jobs, batches, schedules, keys, clean() ? "clean" : fmt::format("{} breaches", breach_count));
  for (const Breach& breach : breaches)
    text += fmt::format("{} {} ({})\n", breach.invariant, breach.what, breach.key);
  if (breach_count > breaches.size())
    text += fmt::format("and {} more\n", breach_count - breaches.size());
  return text;
}

}  // namespace sluice::queue
