// SPDX-License-Identifier: MIT
// What is read can be walked through, and written down again means the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tracker/bencode.h"

namespace {

namespace bencode = sluice::tracker::bencode;
using bencode::Kind;
using bencode::View;

void write(bencode::Writer& writer, const View& value) {
  if (value.kind() == Kind::integer) writer.integer(*value.integer());
  if (value.kind() == Kind::string) writer.string(*value.string());
  if (value.kind() == Kind::integer || value.kind() == Kind::string) return;
  const bool is_dict = value.kind() == Kind::dict;
  std::vector<bencode::Entry> all;
  auto entries = value.entries();
  while (const auto entry = entries.next()) all.push_back(*entry);
  if (is_dict) std::ranges::sort(all, {}, &bencode::Entry::key);
  is_dict ? writer.dict() : writer.list();
  for (const bencode::Entry& entry : all) {
    if (is_dict) writer.key(entry.key);
    write(writer, entry.value);
  }
  writer.end();
}

std::string written(const View& value) {
  std::string out;
  bencode::Writer writer(out);
  write(writer, value);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = bencode::read(text);
  if (!value) {
    SLUICE_CHECK(value.error().code() == sluice::Code::invalid_argument);
    return 0;
  }
  SLUICE_CHECK(value->text() == text);
  const std::string sorted = written(*value);
  SLUICE_CHECK(sorted.size() == size);
  const auto again = bencode::read(sorted);
  SLUICE_CHECK(again && written(*again) == sorted);
  return 0;
}
