// SPDX-License-Identifier: MIT
// The members of a JSON object that a request consists of.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace sluice::server {

/// Ids and names: of teams, crawls, jobs, workers.
inline constexpr std::size_t kNameBytesMax = 256;

/// Reads members one by one. Failures are `invalid_argument` and name the member, as in
/// "job.priority must be a whole number from -2147483648 to 2147483647". Members that nobody asks
/// for are passed over. The value outlives the object.
class Fields {
 public:
  /// `path` is put before names in messages: "job.".
  static Result<Fields> of(const codec::json::Value& value, std::string path = "");

  /// A name of 1 to kNameBytesMax bytes.
  Result<std::string> name(std::string_view member) const;
  /// The same, or nothing if the member is missing or null.
  Result<std::optional<std::string>> optional_name(std::string_view member) const;
  /// Nothing but an array of such names; empty if the member is missing.
  Result<std::vector<std::string>> names(std::string_view member) const;
  Result<std::string> text(std::string_view member) const;
  /// The same, or nothing if the member is missing or null.
  Result<std::optional<std::string>> optional_text(std::string_view member) const;
  Result<bool> boolean(std::string_view member) const;
  /// The same, or `standard` if the member is missing or null.
  Result<bool> boolean_or(std::string_view member, bool standard) const;
  Result<std::optional<double>> optional_real(std::string_view member) const;
  /// Whether it is there, if only as null.
  bool names_it(std::string_view member) const { return value_->find(member) != nullptr; }
  /// Whether it is there and not null.
  bool has(std::string_view member) const;
  /// The objects of an array.
  Result<std::vector<Fields>> objects(std::string_view member) const;
  Result<std::int64_t> integer(std::string_view member, std::int64_t least = INT64_MIN,
                               std::int64_t most = INT64_MAX) const;
  /// The same, or nothing if the member is missing or null.
  Result<std::optional<std::int64_t>> optional_integer(std::string_view member,
                                                       std::int64_t least = INT64_MIN,
                                                       std::int64_t most = INT64_MAX) const;
  /// The text of a member that was parsed as raw.
  Result<std::string_view> raw(std::string_view member) const;
  Result<Fields> object(std::string_view member) const;

 private:
  Fields(const codec::json::Value& value, std::string path)
      : value_(&value), path_(std::move(path)) {}
  Failure must_be(std::string_view member, std::string_view what) const;
  Result<const codec::json::Value*> find(std::string_view member) const;
  Result<std::string> name_of(const codec::json::Value& value, std::string_view member) const;

  const codec::json::Value* value_;
  std::string path_;
};

/// A whole number of a query; `standard` if it is not given. `invalid_argument` otherwise.
Result<std::uint32_t> parse_query_number(std::string_view name, const std::string* text,
                                         std::uint32_t standard);

}  // namespace sluice::server
