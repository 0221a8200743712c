// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <variant>

#include "codec/crc32c.h"
#include "codec/record.h"

namespace sluice::codec {
namespace {

using Model = std::map<unsigned, std::variant<std::uint64_t, std::string>>;

RecordFormat format_with(unsigned field_max) {
  return {.type = 9, .major = 1, .minor = 0, .field_max = static_cast<std::uint8_t>(field_max)};
}

/// Fields on both sides of every border of the encoding: long and short, high and low numbers.
rc::Gen<Model> any_model() {
  auto integer =
      rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 65), rc::gen::inRange(-1, 2)), [](auto drawn) {
        const std::uint64_t power = drawn.first == 64 ? 0 : std::uint64_t{1} << drawn.first;
        return Model::mapped_type(power + static_cast<std::uint64_t>(drawn.second));
      });
  auto bytes = rc::gen::map(
      rc::gen::pair(rc::gen::element(0, 1, 126, 127, 128, 129, 300), rc::gen::arbitrary<char>()),
      [](auto drawn) { return Model::mapped_type(std::string(drawn.first, drawn.second)); });
  return rc::gen::container<Model>(rc::gen::inRange(1u, kFieldNumberMax + 1),
                                   rc::gen::oneOf(integer, bytes));
}

void write(RecordWriter& writer, const Model& model, unsigned number_max) {
  for (const auto& [number, value] : model) {
    if (number > number_max) break;
    if (const auto* integer = std::get_if<std::uint64_t>(&value)) writer.field(number, *integer);
    if (const auto* bytes = std::get_if<std::string>(&value)) writer.field(number, *bytes);
  }
}

std::string encode(const Model& model) {
  RecordWriter writer(format_with(kFieldNumberMax));
  write(writer, model, kFieldNumberMax);
  return writer.finish();
}

Model decode(const RecordReader& record) {
  Model model;
  for (const FieldView& field : record) {
    if (field.kind == FieldView::Kind::integer) {
      model[field.number] = field.integer;
    } else {
      model[field.number] = std::string(field.bytes);
    }
  }
  return model;
}

std::string sealed(std::string body) {
  const std::uint32_t sum = crc32c(body);
  for (int shift = 0; shift < 32; shift += 8) body.push_back(static_cast<char>(sum >> shift));
  return body;
}

RC_GTEST_PROP(RecordProperty, opening_gives_back_what_was_written, ()) {
  const Model model = *any_model();
  const std::string bytes = encode(model);
  const auto record = RecordReader::open(bytes, format_with(kFieldNumberMax));
  RC_ASSERT(record.has_value());
  RC_ASSERT(decode(*record) == model);
  for (unsigned number = 0; number <= kFieldNumberMax + 1; ++number)
    RC_ASSERT(record->has(number) == model.contains(number));
}

RC_GTEST_PROP(RecordProperty, a_rewrite_by_an_older_program_loses_nothing, ()) {
  const Model model = *any_model();
  const std::string bytes = encode(model);
  const RecordFormat older = format_with(*rc::gen::inRange(0u, kFieldNumberMax + 1));
  const auto record = RecordReader::open(bytes, older);
  RC_ASSERT(record.has_value());
  RecordWriter writer(older);
  write(writer, model, older.field_max);
  RC_ASSERT(writer.keep_newer(*record).finish() == bytes);
}

RC_GTEST_PROP(RecordProperty, any_damage_is_detected, (const std::string& noise)) {
  const std::string good = encode(*any_model());
  std::string bad = good;
  const std::size_t at = *rc::gen::inRange<std::size_t>(0, bad.size());
  bad.replace(at, noise.size(), noise);
  RC_PRE(bad != good);
  RC_ASSERT(!RecordReader::open(bad, format_with(kFieldNumberMax)));
}

RC_GTEST_PROP(RecordProperty, damaged_fields_under_a_good_checksum_are_refused_or_canonical, ()) {
  std::string body = encode(*any_model());
  body.resize(body.size() - 4);
  const int edits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < edits && body.size() > 4; ++i) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(4, body.size());
    body[at] = *rc::gen::element('\0', '\x01', '\x02', '\x03', '\x7f', '\x80', '\xff');
  }
  const std::string bytes = sealed(body);
  const auto record = RecordReader::open(bytes, format_with(kFieldNumberMax));
  if (record) RC_ASSERT(encode(decode(*record)) == bytes);
}

}  // namespace
}  // namespace sluice::codec
