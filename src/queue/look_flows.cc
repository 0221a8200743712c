// SPDX-License-Identifier: MIT
// Looking at batches and schedules.
#include <sluice/queue.h>

#include "queue/batch.h"
#include "queue/checks.h"
#include "queue/names.h"
#include "queue/schedule.h"

namespace sluice::queue {
namespace {

kv::Range after_key(kv::Range range, std::string_view after, const std::string& key) {
  if (!after.empty()) range.begin = key + '\0';
  return range;
}

}  // namespace

Result<Batch> Queues::get_batch(const BatchRef& ref) {
  SLUICE_TRY(check_name("batch id", ref.id));
  Batch found;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(queue, read_queue_or_fail(reader, ref.queue));
    SLUICE_LET(value, reader.get(Keys(hash_of(ref.queue)).batch(ref.id)));
    if (!value) return no_such_batch(ref.queue, ref.id);
    SLUICE_LET(record, decode_batch(*value));
    SLUICE_LET(batch, read_batch(reader, queue, record));
    found = std::move(batch);
    return {};
  }));
  return found;
}

Result<std::vector<Batch>> Queues::list_batches(std::string_view queue, std::string_view after,
                                                std::size_t limit) {
  SLUICE_TRY(check_page(limit));
  std::vector<Batch> batches;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    batches.clear();
    SLUICE_LET(record, read_queue_or_fail(reader, queue));
    const Keys keys(hash_of(queue));
    SLUICE_LET(entries, reader.scan(after_key(keys.all(Space::batch), after, keys.batch(after)),
                                    {.limit = limit}));
    for (const auto& entry : entries) {
      SLUICE_LET(decoded, decode_batch(entry.value));
      SLUICE_LET(batch, read_batch(reader, record, decoded));
      batches.push_back(std::move(batch));
    }
    return {};
  }));
  return batches;
}

Result<Schedule> Queues::get_schedule(std::string_view queue, std::string_view name) {
  SLUICE_TRY(check_name("schedule name", name));
  Schedule found;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_TRY(read_queue_or_fail(reader, queue));
    SLUICE_LET(value, reader.get(Keys(hash_of(queue)).schedule(name)));
    if (!value) return no_such_schedule(queue, name);
    SLUICE_LET(record, decode_schedule(*value));
    found = to_schedule(queue, record);
    return {};
  }));
  return found;
}

Result<std::vector<Schedule>> Queues::list_schedules(std::string_view queue, std::string_view after,
                                                     std::size_t limit) {
  SLUICE_TRY(check_page(limit));
  std::vector<Schedule> schedules;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    schedules.clear();
    SLUICE_TRY(read_queue_or_fail(reader, queue));
    const Keys keys(hash_of(queue));
    SLUICE_LET(entries,
               reader.scan(after_key(keys.all(Space::schedule), after, keys.schedule(after)),
                           {.limit = limit}));
    for (const auto& entry : entries) {
      SLUICE_LET(record, decode_schedule(entry.value));
      schedules.push_back(to_schedule(queue, record));
    }
    return {};
  }));
  return schedules;
}

}  // namespace sluice::queue
