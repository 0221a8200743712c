// SPDX-License-Identifier: MIT
// Every record of the queue layer: whatever bytes come with a good checksum are read or refused,
// and what is read and written again reads the same.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "codec/crc32c.h"
#include "codec/record.h"
#include "queue/agenda.h"
#include "queue/records.h"
#include "queue/retry_wire.h"
#include "queue/unique.h"

namespace {

using namespace sluice::queue;

template <class Decode>
void settle(std::string_view bytes, Decode decode) {
  const auto first = decode(bytes);
  if (!first) return;
  const std::string written = encode(*first);
  const auto second = decode(written);
  SLUICE_CHECK(second.has_value());
  SLUICE_CHECK(encode(*second) == written);
}

void settle_events(std::string_view bytes) {
  const auto first = decode_events(bytes);
  if (!first) return;
  std::string moves;
  std::string last_id;
  for (const auto& move : first->moves)
    append_move(moves, last_id, move.id, move.from, move.to, move.attempt);
  const auto second = decode_events(encode_events(first->at, first->moves.size(), moves));
  SLUICE_CHECK(second.has_value());
  SLUICE_CHECK(second->at == first->at && second->moves.size() == first->moves.size());
  for (std::size_t i = 0; i < first->moves.size(); ++i) {
    SLUICE_CHECK(second->moves[i].id == first->moves[i].id);
    SLUICE_CHECK(second->moves[i].from == first->moves[i].from);
    SLUICE_CHECK(second->moves[i].to == first->moves[i].to);
    SLUICE_CHECK(second->moves[i].attempt == first->moves[i].attempt);
  }
}

/// The input as the fields of a record of `type`, with header and checksum put around them.
std::string record_of(std::uint8_t type, std::string_view fields) {
  std::string bytes{'\xb5', static_cast<char>(type), '\1', '\0'};
  bytes += fields;
  const std::uint32_t sum = sluice::codec::crc32c(bytes);
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(sum >> shift));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view fields(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto type = static_cast<std::uint8_t>(data[0] % 16 + 1);
  const std::string bytes = record_of(type, fields);
  switch (type) {
    case 1:
      settle(bytes, decode_header);
      break;
    case 2:
      settle(bytes, decode_queue);
      break;
    case 3:
      settle(bytes, decode_job);
      break;
    case 4:
      (void)decode_chunk(bytes);
      break;
    case 5:
      settle(bytes, decode_group);
      break;
    case 6:
      settle(bytes, decode_bucket);
      break;
    case 7:
      settle(bytes, decode_attempt);
      break;
    case 8:
      settle(bytes, decode_operation);
      break;
    case 9:
      settle(bytes, decode_worker);
      break;
    case 10:
      (void)decode_claimer(bytes);
      break;
    case 12:
      settle(bytes, decode_schedule);
      break;
    case 13:
      settle(bytes, decode_batch);
      break;
    case 14:
      settle_events(bytes);
      break;
    case 15:
      settle(bytes, decode_note);
      break;
    case 16:
      settle(bytes, decode_tie);
      break;
    default:  // 11 is inside 12 and 13: written here, it is refused there.
      (void)decode_schedule(bytes);
  }
  (void)decode_retry(fields);
  (void)read_offered(fields, {});
  (void)read_offer_key(fields);
  (void)read_group_job_key(fields);
  (void)read_timed_key(Space::leased, fields);
  (void)read_agenda_key(fields);
  (void)decode_key_holder(fields);
  return 0;
}
