// SPDX-License-Identifier: MIT
// The few shapes that answers of the compatible API have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "server/answer.h"

namespace sluice::server {

inline net::HttpResponse success_answer(bool is) {
  return json_answer(is ? R"({"success":true})" : R"({"success":false})");
}

inline net::HttpResponse number_answer(std::string_view name, std::uint64_t number) {
  return json_answer(codec::json::Writer().object().name(name).number(number).end_object().take());
}

inline net::HttpResponse list_answer(std::string_view name, const std::vector<std::string>& ids) {
  codec::json::Writer writer;
  writer.object().name(name).array();
  for (const std::string& id : ids) writer.string(id);
  return json_answer(writer.end_array().end_object().take());
}

}  // namespace sluice::server
