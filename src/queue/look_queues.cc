// SPDX-License-Identifier: MIT
// Looking at queues and groups.
#include "queue/checks.h"
#include "queue/names.h"
#include "queue/steps.h"

#include <sluice/queue.h>

namespace sluice::queue {
namespace {

Queue to_queue(const QueueRecord& record) {
  return {.name = record.name,
          .config = record.config,
          .paused = record.paused,
          .created = to_wall(record.created)};
}

/// The last element of each key of a range of name keys, after `after`, up to `limit`.
Result<std::vector<std::string>> read_names(kv::Reader& reader, kv::Range range,
                                            const std::string& after_key, bool after,
                                            std::size_t limit, Space space, bool in_queue) {
  if (after) range.begin = after_key + '\0';
  SLUICE_LET(entries, reader.scan(range, {.limit = limit}));
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    SLUICE_LET(key, read_key(entry.key, space));
    if (in_queue) SLUICE_TRY(key.mark());
    SLUICE_LET(name, key.string());
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

Result<Queue> Queues::get_queue(std::string_view queue) {
  Queue found;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(record, read_queue_or_fail(reader, queue));
    found = to_queue(record);
    return {};
  }));
  return found;
}

Result<std::vector<Queue>> Queues::list_queues(std::string_view after, std::size_t limit) {
  SLUICE_TRY(check_page(limit));
  std::vector<Queue> queues;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    queues.clear();
    SLUICE_LET(names, read_names(reader, space_range(Space::queue_name), queue_name_key(after),
                                 !after.empty(), limit, Space::queue_name, false));
    for (const auto& name : names) {
      SLUICE_LET(record, read_queue_or_fail(reader, name));
      queues.push_back(to_queue(record));
    }
    return {};
  }));
  return queues;
}

Result<std::vector<Group>> Queues::list_groups(std::string_view queue, std::string_view after,
                                               std::size_t limit) {
  SLUICE_TRY(check_page(limit));
  std::vector<Group> groups;
  SLUICE_TRY(store_.read([&](kv::Reader& reader) -> Status {
    groups.clear();
    SLUICE_TRY(read_queue_or_fail(reader, queue));
    const Keys keys(hash_of(queue));
    // Always after a name: the jobs without a group, in a fair queue, are no group to anybody else.
    SLUICE_LET(names, read_names(reader, keys.all(Space::group_name), keys.group_name(after), true,
                                 limit, Space::group_name, true));
    for (const auto& name : names) {
      SLUICE_LET(value, reader.get(keys.group(hash_of(name))));
      if (!value) return error(Code::corrupt, "a group's name leads to no group");
      SLUICE_LET(record, decode_group(*value));
      groups.push_back({.name = record.name, .limit = record.limit});
    }
    return {};
  }));
  return groups;
}

}  // namespace sluice::queue
