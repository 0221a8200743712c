// SPDX-License-Identifier: MIT
// docs/format/queue.md says what is stored: the tables are compared with a store that holds one of
// everything.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "codec/record.h"
#include "codec/tuple.h"
#include "queue/keys.h"
#include "queue/records.h"
#include "queue/testing.h"
#include "queue/verify/full_store.h"
#include "tests/support/documents.h"

namespace sluice::queue {
namespace {

using codec::TupleKind;
using Row = std::vector<std::string>;

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// The rows of the first table after `heading`, without its head.
std::vector<Row> table_after(const std::string& heading) {
  std::istringstream file(test::read_document("format/queue.md"));
  std::vector<Row> rows;
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    if (line == heading) found = true;
    if (!found) continue;
    if (line.empty() || line[0] != '|') {
      if (rows.size() > 2) break;
      continue;
    }
    Row row;
    std::istringstream cells(line.substr(1));
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(trimmed(cell));
    rows.push_back(std::move(row));
  }
  EXPECT_GT(rows.size(), 2u) << heading;
  if (rows.size() > 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

int leading_number(const std::string& cell) {
  return std::atoi(cell.c_str());
}

TupleKind kind_of(const std::string& element) {
  static const std::set<std::string> kMarks = {"q", "g", "h", "job", "place", "process"};
  static const std::set<std::string> kStrings = {"name", "id", "operation id", "subject", "key"};
  if (kMarks.contains(element)) return TupleKind::mark;
  return kStrings.contains(element) ? TupleKind::string : TupleKind::number;
}

struct SpaceRow {
  std::string name = {};
  std::vector<TupleKind> elements = {};
  int record = 0;  // 0: the value is not one.
};

std::map<int, SpaceRow> documented_spaces() {
  std::map<int, SpaceRow> spaces;
  for (const Row& row : table_after("## Keys")) {
    if (row[0].find(" to ") != std::string::npos) continue;  // Kept free.
    SpaceRow space{.name = row[0].substr(row[0].find(' ') + 1)};
    std::istringstream elements(row[1]);
    for (std::string element; std::getline(elements, element, ',');)
      space.elements.push_back(kind_of(trimmed(element)));
    if (row[2].starts_with("record ")) space.record = leading_number(row[2].substr(7));
    spaces[leading_number(row[0])] = space;
  }
  return spaces;
}

std::vector<TupleKind> elements_of(codec::TupleReader& reader) {
  std::vector<TupleKind> kinds;
  for (;;) {
    kinds.push_back(must(reader.peek()));
    switch (kinds.back()) {
      case TupleKind::mark:
        must(status_of(reader.mark()));
        break;
      case TupleKind::string:
        must(status_of(reader.string()));
        break;
      case TupleKind::number:
        must(status_of(reader.number<std::int64_t>()));
        break;
      default:
        kinds.pop_back();
        return kinds;
    }
  }
}

int space_number(std::string_view key, codec::TupleReader* rest = nullptr) {
  codec::TupleReader reader(key.substr(1));
  const int number = must(reader.number<std::uint8_t>());
  if (rest != nullptr) *rest = reader;
  return number;
}

TEST(QueueFormatDoc, every_key_has_the_elements_of_its_space) {
  const auto spaces = documented_spaces();
  EXPECT_EQ(spaces.size(), static_cast<std::size_t>(Space::claimer) +
                               static_cast<std::size_t>(Space::trimmed) -
                               static_cast<std::size_t>(Space::agenda) + 1);
  const Bench bench = open_full();
  for (const auto& entry : dump(bench)) {
    ASSERT_EQ(entry.key[0], kKeyPrefix);
    codec::TupleReader reader("");
    const auto space = spaces.find(space_number(entry.key, &reader));
    ASSERT_NE(space, spaces.end());
    EXPECT_EQ(elements_of(reader), space->second.elements) << space->second.name;
  }
}

using Fields = std::map<int, std::map<unsigned, std::string>>;  // By record type: kinds.
using Seen = std::map<int, std::set<unsigned>>;
constexpr int kTemplate = 11;

/// The fields of a record, and of the records inside it.
void see_fields(std::string_view value, int type, const Fields& fields, Seen& seen) {
  const codec::RecordFormat format{.type = static_cast<std::uint8_t>(type), .major = 1, .minor = 1};
  const auto record = codec::RecordReader::open(value, format);
  ASSERT_TRUE(record) << type << ": " << record.error().to_string();
  for (const codec::FieldView& field : *record) {
    const auto documented = fields.at(type).find(field.number);
    ASSERT_NE(documented, fields.at(type).end()) << type << " " << field.number;
    const bool bytes = documented->second == "bytes";
    EXPECT_EQ(bytes, field.kind == codec::FieldView::Kind::bytes) << type << " " << field.number;
    seen[type].insert(field.number);
    const bool nested = (type == 12 && field.number == 3) ||
                        (type == 13 && (field.number == 6 || field.number == 7));
    if (nested) see_fields(field.bytes, kTemplate, fields, seen);
  }
}

TEST(QueueFormatDoc, every_record_has_only_documented_fields_and_all_are_seen) {
  const auto spaces = documented_spaces();
  Fields fields;
  for (int type = 1; type <= 16; ++type) {
    std::istringstream file(test::read_document("format/queue.md"));
    std::string heading;
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("### Record " + std::to_string(type) + ":")) heading = line;
    for (const Row& row : table_after(heading))
      fields[type][static_cast<unsigned>(leading_number(row[0]))] = row[1];
  }
  const Bench bench = open_full();
  Seen seen;
  for (const auto& entry : dump(bench)) {
    const SpaceRow& space = spaces.at(space_number(entry.key));
    if (space.record == 0) continue;
    std::string_view value = entry.value;
    if (space.name == "job" || space.name == "unique") value.remove_suffix(kv::kMarkBytes);
    see_fields(value, space.record, fields, seen);
  }
  for (const auto& [type, documented] : fields)
    for (const auto& [number, kind] : documented)
      EXPECT_TRUE(seen[type].contains(number)) << "record " << type << ", field " << number;
}

/// The spaces of the first words of a cell such as "5 job, 7 id (6)", what is in brackets left out.
std::multiset<int> spaces_in(const std::string& cell) {
  std::multiset<int> spaces;
  std::istringstream items(cell.substr(0, cell.find('(')));
  for (std::string item; std::getline(items, item, ',');)
    if (leading_number(trimmed(item)) > 0) spaces.insert(leading_number(trimmed(item)));
  return spaces;
}

TEST(QueueFormatDoc, the_life_of_a_job_writes_and_erases_the_keys_listed) {
  const Bench bench = open_bench(EngineKind::lmdb);
  must(bench->configure("q", {}));
  std::map<std::string, std::string> before;
  const auto look = [&](const std::string& step) {
    std::map<std::string, std::string> after;
    for (const auto& entry : dump(bench)) after[entry.key] = entry.value;
    std::multiset<int> put;
    std::multiset<int> erased;
    for (const auto& [key, value] : after)
      if (!before.contains(key) || before[key] != value) put.insert(space_number(key));
    for (const auto& [key, value] : before)
      if (!after.contains(key)) erased.insert(space_number(key));
    put.erase(static_cast<int>(Space::count));
    put.erase(static_cast<int>(Space::event_count));
    before = after;
    for (const Row& row : table_after("## The life of a job, key by key")) {
      if (row[0] != step) continue;
      EXPECT_EQ(put, spaces_in(row[1])) << step;
      EXPECT_EQ(erased, spaces_in(row[2])) << step;
      return;
    }
    if (!step.empty()) ADD_FAILURE() << "no row for " << step;
  };
  look("");
  must(bench->enqueue({.queue = "q", .payload = "p"}));
  look("enqueue");
  const Lease lease = must_claim(bench, "q");
  look("claim");
  must(bench->ack({.queue = "q", .token = lease.token}));
  look("ack");
}

}  // namespace
}  // namespace sluice::queue
