// SPDX-License-Identifier: MIT
#include "queue/operations.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/crc32c.h"
#include "codec/tuple.h"
#include "queue/names.h"

namespace sluice::queue {
namespace {

// Operations are filed by the hour they were made in: a look-up reads two keys, and a whole hour is
// forgotten with one erased range.
const Millis kHour = to_millis(kOperationWindow);

Result<std::vector<ItemOutcome>> decode_outcome(std::string_view bytes) {
  std::vector<ItemOutcome> outcome;
  for (codec::TupleReader reader(bytes); !reader.finish().ok();) {
    SLUICE_TRY(reader.begin_nested());
    SLUICE_LET(code, reader.number<std::uint8_t>());
    SLUICE_LET(text, reader.string());
    SLUICE_TRY(reader.end_nested());
    if (code >= kCodeCount) return error(Code::corrupt, "an operation's code is unknown");
    outcome.push_back({.code = static_cast<Code>(code), .text = text});
  }
  return outcome;
}

std::string encode_outcome(const std::vector<ItemOutcome>& outcome) {
  codec::TupleWriter writer;
  for (const auto& item : outcome)
    writer.begin_nested()
        .number(static_cast<std::uint8_t>(item.code))
        .string(item.text)
        .end_nested();
  return writer.take();
}

}  // namespace

Operation::Operation(std::string_view queue, std::string_view id, std::string_view verb,
                     std::string_view request)
    : keys_(hash_of(queue)), id_(id), verb_(verb), request_(codec::crc32c(request)) {}

Result<std::optional<std::vector<ItemOutcome>>> Operation::find(Steps& steps) const {
  std::optional<std::vector<ItemOutcome>> outcome;
  if (id_.empty()) return outcome;
  const Millis hour = steps.now() / kHour;
  for (const Millis filed : {hour, hour - 1}) {
    SLUICE_LET(value, steps.txn().get(keys_.operation(filed, id_)));
    if (!value) continue;
    SLUICE_LET(record, decode_operation(*value));
    if (record.verb != verb_ || record.request != request_)
      return error(Code::invalid_argument,
                   fmt::format("the operation id \"{}\" belongs to another call ({}): every call "
                               "needs its own",
                               id_, record.verb));
    SLUICE_LET(decoded, decode_outcome(record.results));
    outcome = std::move(decoded);
    return outcome;
  }
  return outcome;
}

void Operation::store(Steps& steps, const std::vector<ItemOutcome>& outcome) const {
  const auto refused = [](const ItemOutcome& item) { return item.code != Code::ok; };
  if (id_.empty() || std::ranges::all_of(outcome, refused)) return;
  steps.txn().put(keys_.operation(steps.now() / kHour, id_),
                  encode(OperationRecord{
                      .verb = verb_, .request = request_, .results = encode_outcome(outcome)}));
}

Result<std::optional<Millis>> next_forgotten_operation(kv::Reader& reader, const Keys& keys) {
  std::optional<Millis> next;
  SLUICE_LET(first, reader.scan(keys.all(Space::operation),
                                {.limit = 1, .isolation = kv::Isolation::snapshot}));
  if (first.empty()) return next;
  SLUICE_LET(key, read_key(first[0].key, Space::operation));
  SLUICE_TRY(key.mark());
  SLUICE_LET(hour, key.number<Millis>());
  next = (hour + 2) * kHour;
  return next;
}

void forget_operations(Steps& steps, const QueueState& queue) {
  steps.txn().erase_range(queue.keys.operations_before(steps.now() / kHour - 1));
}

}  // namespace sluice::queue
