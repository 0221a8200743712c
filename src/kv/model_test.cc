// SPDX-License-Identifier: MIT
// Random sequences of transactions on every engine, against a std::map.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kv/conformance/engines.h"
#include "kv/overlay.h"

namespace sluice::kv {
namespace {

using Model = std::map<std::string, std::string>;

struct Operation {
  enum Kind { put, erase, erase_range, add, get, scan, snapshot_get, snapshot_scan };
  Kind kind = put;
  std::string key;
  std::string other;  // The value, or the end of the range.
  std::int64_t number = 0;
  bool reverse = false;
};

struct Step {
  std::vector<Operation> operations;
  bool fails = false;
};

std::ostream& operator<<(std::ostream& out, const Operation& op) {
  constexpr const char* kNames[] = {"put", "erase", "erase_range",  "add",
                                    "get", "scan",  "snapshot_get", "snapshot_scan"};
  return out << kNames[op.kind] << "(" << op.key << ", " << op.other.size() << " bytes, "
             << op.number << (op.reverse ? ", reverse)" : ")");
}

std::ostream& operator<<(std::ostream& out, const Step& step) {
  out << (step.fails ? "\n  failing:" : "\n  step:");
  for (const Operation& op : step.operations) out << "\n    " << op;
  return out;
}

// Few and short keys, so that operations meet; some values need several pages.
rc::Gen<std::string> keys() {
  const auto first = rc::gen::elementOf(std::string("ab\x01\xfe"));
  const auto other = rc::gen::elementOf(std::string("ab\x00\xff", 4));
  return rc::gen::map(rc::gen::pair(first, rc::gen::container<std::string>(other)),
                      [](const auto& pair) { return (pair.first + pair.second).substr(0, 4); });
}

rc::Gen<std::string> values() {
  return rc::gen::map(rc::gen::weightedOneOf<int>({{8, rc::gen::inRange(0, 40)},
                                                   {1, rc::gen::inRange(1900, 2200)},
                                                   {1, rc::gen::inRange(4000, 20'000)}}),
                      [](int bytes) { return std::string(static_cast<std::size_t>(bytes), 'v'); });
}

rc::Gen<Operation> operations() {
  return rc::gen::exec([] {
    Operation op;
    op.kind = *rc::gen::weightedElement<Operation::Kind>({{6, Operation::put},
                                                          {3, Operation::erase},
                                                          {1, Operation::erase_range},
                                                          {3, Operation::add},
                                                          {3, Operation::get},
                                                          {2, Operation::scan},
                                                          {1, Operation::snapshot_get},
                                                          {1, Operation::snapshot_scan}});
    op.key = *keys();
    op.other = op.kind == Operation::put ? *values() : *keys();
    op.number = *rc::gen::inRange<std::int64_t>(-3, 300);
    op.reverse = *rc::gen::arbitrary<bool>();
    return op;
  });
}

rc::Gen<Step> steps() {
  return rc::gen::exec([] {
    return Step{*rc::gen::container<std::vector<Operation>>(operations()),
                *rc::gen::weightedElement<bool>({{5, false}, {1, true}})};
  });
}

std::vector<KeyValue> scan_model(const Model& model, const Operation& op, std::size_t limit) {
  std::vector<KeyValue> entries;
  for (const auto& [key, value] : model)
    if (key >= op.key && key < op.other) entries.push_back({key, value});
  if (op.reverse) std::reverse(entries.begin(), entries.end());
  if (entries.size() > limit) entries.resize(limit);
  return entries;
}

std::optional<std::string> get_model(const Model& model, const std::string& key) {
  const auto it = model.find(key);
  return it == model.end() ? std::nullopt : std::optional(it->second);
}

// One operation on both; `before` is the state when the transaction began.
void perform(Transaction& txn, Model& model, const Model& before, const Operation& op) {
  const auto limit = op.number < 0 ? SIZE_MAX : static_cast<std::size_t>(op.number % 7);
  const bool snapshot = op.kind == Operation::snapshot_get || op.kind == Operation::snapshot_scan;
  const Isolation isolation = snapshot ? Isolation::snapshot : Isolation::conflicting;
  const Model& visible = snapshot ? before : model;
  switch (op.kind) {
    case Operation::put:
      txn.put(op.key, op.other);
      model[op.key] = op.other;
      break;
    case Operation::erase:
      txn.erase(op.key);
      model.erase(op.key);
      break;
    case Operation::erase_range:
      txn.erase_range({op.key, op.other});
      if (op.key < op.other) model.erase(model.lower_bound(op.key), model.lower_bound(op.other));
      break;
    case Operation::add: {
      txn.add(op.key, op.number);
      const auto sum = counter_after(get_model(model, op.key).value_or(""), op.number);
      model[op.key] = std::string(sum.data(), sum.size());
      break;
    }
    case Operation::get:
    case Operation::snapshot_get:
      RC_ASSERT(txn.get(op.key, isolation).value() == get_model(visible, op.key));
      break;
    case Operation::scan:
    case Operation::snapshot_scan:
      RC_ASSERT(txn.scan({op.key, op.other},
                         {.limit = limit, .reverse = op.reverse, .isolation = isolation})
                    .value() == scan_model(visible, op, limit));
      break;
  }
}

void play(const Opened& store, const std::vector<Step>& sequence) {
  must_run(store, [](Transaction& txn) { return txn.erase_range(Range::all()), Status(); });
  Model model;
  for (const Step& step : sequence) {
    Model after = model;
    const auto result = store->run([&](Transaction& txn) -> Status {
      after = model;
      for (const Operation& op : step.operations) perform(txn, after, model, op);
      if (step.fails) return {Code::cancelled, "on purpose"};
      return {};
    });
    RC_ASSERT(status_of(result).code() == (step.fails ? Code::cancelled : Code::ok));
    if (result) model = after;
  }
  Operation everything{.kind = Operation::scan, .key = "", .other = "\xff"};
  RC_ASSERT(all_committed(store) == scan_model(model, everything, SIZE_MAX));
}

class ModelTest : public testing::TestWithParam<EngineKind> {};

// RC_PARAMS="seed=..." repeats a failing run; rapidcheck prints the line.
TEST_P(ModelTest, sequences_of_transactions_agree_with_a_map) {
  const Opened store = open_engine(GetParam());
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::getenv("SLUICE_LONG") != nullptr ? 40'000 : 2'000;
  params.maxSize = 20;
  rc::detail::TestMetadata metadata;
  metadata.id = std::string("ModelTest/") + engine_name(GetParam());
  const auto result = rc::detail::checkTestable(
      [&] { play(store, *rc::gen::container<std::vector<Step>>(steps())); }, metadata, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << message.str();
  std::cout << "figure kv_model_sequences_" << engine_name(GetParam()) << " " << params.maxSuccess
            << "\n";
}

INSTANTIATE_TEST_SUITE_P(On, ModelTest,
                         testing::Values(EngineKind::memory_serial, EngineKind::memory_optimistic,
                                         EngineKind::lmdb, EngineKind::fault),
                         [](const auto& instance) {
                           return std::string(engine_name(instance.param));
                         });

}  // namespace
}  // namespace sluice::kv
