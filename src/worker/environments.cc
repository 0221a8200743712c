// SPDX-License-Identifier: MIT
#include "worker/environments.h"

#include "codec/record.h"
#include "codec/tuple.h"
#include "queue/names.h"

namespace sluice::worker {
namespace {

constexpr codec::RecordFormat kRecord{.type = 33, .major = 1, .minor = 0, .field_max = 2};
constexpr std::string_view kPrefix = "queuectl/env/";
// An environment in use is marked again when its mark is older than this.
constexpr Duration kMarkedAgain = kEnvironmentUse / 2;

std::string key_of(std::string_view id) {
  return std::string(kPrefix).append(id);
}

std::uint64_t to_ms(WallTime time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

WallTime wall_time(std::uint64_t ms) {
  return WallTime(std::chrono::milliseconds(ms));
}

std::string encode_lines(const Environment& environment) {
  codec::TupleWriter tuple;
  for (const auto& line : environment) tuple.string(line);
  return tuple.take();
}

Result<Environment> decode_lines(std::string_view bytes) {
  Environment environment;
  codec::TupleReader reader(bytes);
  for (;;) {
    SLUICE_LET(kind, reader.peek());
    if (kind == codec::TupleKind::end) return environment;
    SLUICE_LET(line, reader.string());
    environment.push_back(std::move(line));
  }
}

Result<WallTime> used_at(std::string_view value) {
  SLUICE_LET(record, codec::RecordReader::open(value, kRecord));
  SLUICE_LET(ms, record.u64(1));
  return wall_time(ms);
}

}  // namespace

Result<std::string> environment_id(const Environment& environment) {
  const std::string lines = encode_lines(environment);
  if (lines.size() > kEnvironmentBytesMax)
    return error(Code::invalid_argument, "the environment has " + std::to_string(lines.size()) +
                                             " bytes and 90,000 is the most that a job can keep: "
                                             "enqueue with --clean-env and --env NAME=value");
  return std::string(queue::hash_of(lines).view());
}

Status keep_environment(kv::Transaction& txn, std::string_view id, const Environment& environment,
                        WallTime now) {
  const std::string key = key_of(id);
  SLUICE_LET(kept, txn.get(key));
  if (kept) {
    SLUICE_LET(used, used_at(*kept));
    if (now - used < kMarkedAgain) return {};
  }
  txn.put(key, codec::RecordWriter(kRecord, 8'192)
                   .field(1, to_ms(now))
                   .field(2, encode_lines(environment))
                   .finish());
  return {};
}

Result<Environment> get_environment(kv::Store& store, std::string_view id) {
  std::optional<std::string> value;
  SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, reader.get(key_of(id)));
    value = std::move(found);
    return {};
  }));
  if (!value)
    return error(Code::not_found, "the environment that the job was enqueued with is gone");
  SLUICE_LET(record, codec::RecordReader::open(*value, kRecord));
  SLUICE_LET(lines, record.bytes(2));
  return decode_lines(lines);
}

Result<std::uint64_t> drop_environments(kv::Store& store, const std::set<std::string>& used,
                                        WallTime before) {
  std::uint64_t dropped = 0;
  const auto commit = store.run(
      [&](kv::Transaction& txn) -> Status {
        dropped = 0;
        SLUICE_LET(entries, txn.scan(kv::Range::prefix(kPrefix)));
        for (const auto& entry : entries) {
          SLUICE_LET(time, used_at(entry.value));
          if (time >= before || used.contains(entry.key.substr(kPrefix.size()))) continue;
          txn.erase(entry.key);
          ++dropped;
        }
        return {};
      },
      {.write_class = kv::WriteClass::drain});
  SLUICE_TRY(commit);
  return dropped;
}

Result<std::shared_ptr<const Environment>> EnvironmentCache::get(const std::string& id) {
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  Environment environment;
  if (!id.empty()) {
    SLUICE_LET(kept, get_environment(store_, id));
    environment = std::move(kept);
  }
  if (known_.size() >= kKept) known_.clear();
  auto shared = std::make_shared<const Environment>(std::move(environment));
  known_.emplace(id, shared);
  return shared;
}

}  // namespace sluice::worker
