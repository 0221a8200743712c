// SPDX-License-Identifier: MIT
// Many jobs in one text of JSON.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "codec/json.h"
#include "queuectl/job_spec.h"

namespace sluice::cli {

/// The jobs of a text: an object, an array of objects, or one object per line.
class JobText {
 public:
  /// What the text does not say of a job is as in `common`.
  JobText(std::string text, JobSpec common, WallTime now)
      : text_(std::move(text)), common_(std::move(common)), now_(now) {}

  /// Calls `each` with every job in turn. Failures name the line.
  template <class Each>
  Status visit(const Each& each) const {
    const auto first = text_.find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
      return error(Code::invalid_argument, "there is no job in the input");
    if (text_[first] == '[') return visit_array(each);
    const auto whole = codec::json::parse(text_);
    if (whole) return visit_value(*whole, each);
    // One object per line, if the first line is one; otherwise it is one text with a mistake in it.
    if (!codec::json::parse(std::string_view(text_).substr(first, text_.find('\n', first) - first)))
      return whole.error();
    std::size_t number = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const auto end = std::min(text_.find('\n', at), text_.size());
      ++number;
      const std::string_view line(text_.data() + at, end - at);
      at = end + 1;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (const Status status = visit_line(line, each); !status.ok())
        return status.with("line " + std::to_string(number));
    }
    return {};
  }

 private:
  template <class Each>
  Status visit_line(std::string_view line, const Each& each) const {
    auto value = codec::json::parse(line);
    // The line is named already; within it only the column counts.
    if (!value) return error(value.error().code(), strip_line(value.error().message()));
    return visit_value(*value, each);
  }

  template <class Each>
  Status visit_array(const Each& each) const {
    SLUICE_LET(value, codec::json::parse(text_));
    std::size_t number = 0;
    for (const auto& element : *value.template as<codec::json::Array>()) {
      ++number;
      if (const Status status = visit_value(element, each); !status.ok())
        return status.with("job " + std::to_string(number));
    }
    return {};
  }

  template <class Each>
  Status visit_value(const codec::json::Value& value, const Each& each) const {
    JobSpec spec = common_;
    SLUICE_TRY(read_json(value, now_, spec));
    return each(spec);
  }

  static std::string strip_line(std::string message) {
    constexpr std::string_view kFirst = "line 1, ";
    if (message.starts_with(kFirst)) message.erase(0, kFirst.size());
    return message;
  }

  std::string text_;
  JobSpec common_;
  WallTime now_;
};

}  // namespace sluice::cli
