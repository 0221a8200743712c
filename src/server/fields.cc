// SPDX-License-Identifier: MIT
#include "server/fields.h"

#include <charconv>

namespace sluice::server {

using codec::json::Kind;
using codec::json::Value;

Result<Fields> Fields::of(const Value& value, std::string path) {
  if (value.kind() != Kind::object)
    return error(Code::invalid_argument,
                 (path.empty() ? std::string("the body") : path.substr(0, path.size() - 1)) +
                     " must be an object, not " + value.kind_name());
  return Fields(value, std::move(path));
}

Failure Fields::must_be(std::string_view member, std::string_view what) const {
  return error(Code::invalid_argument,
               path_ + std::string(member) + " must be " + std::string(what));
}

Result<const Value*> Fields::find(std::string_view member) const {
  const Value* const value = value_->find(member);
  if (value == nullptr)
    return error(Code::invalid_argument, path_ + std::string(member) + " is missing");
  return value;
}

Result<std::string> Fields::name_of(const Value& value, std::string_view member) const {
  const auto* text = value.as<std::string>();
  if (text == nullptr) return must_be(member, "a string");
  if (text->empty() || text->size() > kNameBytesMax) return must_be(member, "1 to 256 bytes");
  return *text;
}

Result<std::string> Fields::name(std::string_view member) const {
  SLUICE_LET(value, find(member));
  return name_of(*value, member);
}

Result<std::optional<std::string>> Fields::optional_name(std::string_view member) const {
  const Value* const value = value_->find(member);
  if (value == nullptr || value->kind() == Kind::null) return std::optional<std::string>();
  SLUICE_LET(name, name_of(*value, member));
  return std::optional(std::move(name));
}

Result<std::vector<std::string>> Fields::names(std::string_view member) const {
  std::vector<std::string> all;
  const Value* const value = value_->find(member);
  if (value == nullptr) return all;
  const auto* items = value->as<codec::json::Array>();
  if (items == nullptr) return must_be(member, "an array of strings");
  for (const Value& item : *items) {
    SLUICE_LET(name, name_of(item, member));
    all.push_back(std::move(name));
  }
  return all;
}

Result<std::string> Fields::text(std::string_view member) const {
  SLUICE_LET(value, find(member));
  if (const auto* text = value->as<std::string>()) return *text;
  return must_be(member, "a string");
}

Result<std::optional<std::string>> Fields::optional_text(std::string_view member) const {
  if (!has(member)) return std::optional<std::string>();
  SLUICE_LET(is, text(member));
  return std::optional(std::move(is));
}

bool Fields::has(std::string_view member) const {
  const Value* const value = value_->find(member);
  return value != nullptr && value->kind() != Kind::null;
}

Result<bool> Fields::boolean_or(std::string_view member, bool standard) const {
  if (!has(member)) return standard;
  return boolean(member);
}

Result<std::optional<double>> Fields::optional_real(std::string_view member) const {
  if (!has(member)) return std::optional<double>();
  const Value* const value = value_->find(member);
  if (const auto* real = value->as<double>()) return std::optional(*real);
  if (const auto* whole = value->as<std::int64_t>())
    return std::optional(static_cast<double>(*whole));
  return must_be(member, "a number");
}

Result<std::vector<Fields>> Fields::objects(std::string_view member) const {
  std::vector<Fields> all;
  SLUICE_LET(value, find(member));
  const auto* items = value->as<codec::json::Array>();
  if (items == nullptr) return must_be(member, "an array of objects");
  for (std::size_t i = 0; i < items->size(); ++i) {
    SLUICE_LET(item, of((*items)[i], path_ + std::string(member) + "[" + std::to_string(i) + "]."));
    all.push_back(std::move(item));
  }
  return all;
}

Result<bool> Fields::boolean(std::string_view member) const {
  SLUICE_LET(value, find(member));
  if (const auto* is = value->as<bool>()) return *is;
  return must_be(member, "true or false");
}

Result<std::int64_t> Fields::integer(std::string_view member, std::int64_t least,
                                     std::int64_t most) const {
  SLUICE_LET(value, find(member));
  const auto* number = value->as<std::int64_t>();
  if (number != nullptr && *number >= least && *number <= most) return *number;
  return must_be(member,
                 "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

Result<std::optional<std::int64_t>> Fields::optional_integer(std::string_view member,
                                                             std::int64_t least,
                                                             std::int64_t most) const {
  const Value* const value = value_->find(member);
  if (value == nullptr || value->kind() == Kind::null) return std::optional<std::int64_t>();
  SLUICE_LET(number, integer(member, least, most));
  return std::optional(number);
}

Result<std::string_view> Fields::raw(std::string_view member) const {
  SLUICE_LET(value, find(member));
  if (const auto* raw = value->as<codec::json::Raw>()) return raw->text;
  return must_be(member, "a value");
}

Result<Fields> Fields::object(std::string_view member) const {
  SLUICE_LET(value, find(member));
  return of(*value, path_ + std::string(member) + ".");
}

Result<std::uint32_t> parse_query_number(std::string_view name, const std::string* text,
                                         std::uint32_t standard) {
  if (text == nullptr) return standard;
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == text->data() + text->size()) return number;
  return error(Code::invalid_argument,
               std::string(name) + " must be a whole number from 0 to 4294967295");
}

}  // namespace sluice::server
