// SPDX-License-Identifier: MIT
#include "server/compat_records.h"

#include <algorithm>

#include "codec/base64.h"
#include "codec/record.h"
#include "codec/tuple.h"
#include "queue/names.h"

namespace sluice::server {
namespace {

using codec::RecordFormat;
using codec::RecordReader;
using codec::RecordWriter;
using codec::TupleReader;
using codec::TupleWriter;

constexpr RecordFormat kJob{.type = 34, .major = 1, .minor = 0, .field_max = 5};
constexpr RecordFormat kKey{.type = 35, .major = 1, .minor = 0, .field_max = 3};

constexpr std::string_view kClaims = "claim";
constexpr std::string_view kCrawls = "crawl";
constexpr std::string_view kMarkers = "marker";
constexpr std::string_view kMarkerTimes = "marker time";
constexpr std::string_view kMarkerCounts = "marker count";

TupleWriter key_of(std::string_view space) {
  TupleWriter key;
  key.string("sluiced").string(space);
  return key;
}

TupleWriter& put_hash(TupleWriter& key, std::string_view name) {
  const queue::Bytes16 hash = queue::hash_of(name);
  return key.mark({reinterpret_cast<const char*>(hash.bytes.data()), hash.bytes.size()});
}

TupleWriter key_of(std::string_view space, Owner owner, std::string_view name) {
  TupleWriter key = key_of(space);
  key.number(static_cast<std::uint8_t>(owner));
  put_hash(key, name);
  return key;
}

/// Every key that goes on after `prefix`.
kv::Range below(std::string_view prefix) {
  codec::TupleRange range = codec::extensions_of(prefix);
  return {.begin = std::move(range.begin), .end = std::move(range.end)};
}

kv::Range until(const std::string& prefix, std::int64_t ms) {
  return {.begin = prefix, .end = TupleWriter(prefix).number(ms + 1).take()};
}

/// Goes past what every key of a space begins with.
Result<TupleReader> open_key(std::string_view key, std::string_view space) {
  TupleReader reader(key);
  SLUICE_LET(program, reader.string());
  SLUICE_LET(found, reader.string());
  if (program != "sluiced" || found != space)
    return error(Code::corrupt, "a key is not where it should be");
  return reader;
}

}  // namespace

std::string encode(const CompatJob& job) {
  RecordWriter record(kJob, job.data.size() + 64);
  record.field(1, job.data).field(2, std::uint8_t{job.listenable});
  if (job.channel) record.field(3, *job.channel);
  record.field_signed(4, job.created_ms);
  if (job.times_out_ms) record.field_signed(5, *job.times_out_ms);
  return record.finish();
}

Result<CompatJob> decode_compat_job(std::string_view payload) {
  const auto record = RecordReader::open(payload, kJob);
  if (!record) return error(Code::invalid_argument, "the job was not pushed here");
  CompatJob job;
  SLUICE_LET(data, record->bytes(1));
  SLUICE_LET(listenable, record->u64(2));
  SLUICE_LET(created, record->i64(4));
  job.data = data;
  job.listenable = listenable != 0;
  job.created_ms = created;
  if (record->has(3)) {
    SLUICE_LET(channel, record->bytes(3));
    job.channel = channel;
  }
  if (record->has(5)) {
    SLUICE_LET(times_out, record->i64(5));
    job.times_out_ms = times_out;
  }
  return job;
}

std::string encode(const QueueKey& key) {
  return codec::to_base64(RecordWriter(kKey)
                              .field(1, key.team)
                              .field(2, key.id)
                              .field(3, key.token.to_string())
                              .finish());
}

Result<QueueKey> decode_queue_key(std::string_view text) {
  const auto wrong = [] {
    return error(Code::invalid_argument, "queueKey is none that a pop has answered");
  };
  const auto bytes = codec::from_base64(text);
  if (!bytes) return wrong();
  const auto record = RecordReader::open(*bytes, kKey);
  if (!record) return wrong();
  const auto team = record->bytes(1);
  const auto id = record->bytes(2);
  const auto token = record->bytes(3);
  if (!team || !id || !token) return wrong();
  auto parsed = queue::Token::parse(*token);
  if (!parsed) return wrong();
  return QueueKey{.team = std::string(*team), .id = std::string(*id), .token = *parsed};
}

std::string claim_key(std::string_view id, std::string_view team) {
  TupleWriter key = key_of(kClaims);
  return put_hash(put_hash(key, id), team).take();
}

kv::Range claims_of(std::string_view id) {
  TupleWriter key = key_of(kClaims);
  return below(put_hash(key, id).take());
}

kv::Range all_claims() {
  return below(key_of(kClaims).take());
}

std::string crawl_key(std::string_view crawl, std::string_view team) {
  TupleWriter key = key_of(kCrawls);
  key.string(crawl);
  return put_hash(key, team).take();
}

kv::Range teams_of_crawl(std::string_view crawl) {
  return below(key_of(kCrawls).string(crawl).take());
}

kv::Range crawls_after(std::string_view crawl) {
  kv::Range range = below(key_of(kCrawls).take());
  if (!crawl.empty()) range.begin = teams_of_crawl(crawl).end;
  return range;
}

Result<std::string> crawl_of(std::string_view key) {
  SLUICE_LET(reader, open_key(key, kCrawls));
  return reader.string();
}

std::string_view team_of(std::string_view crawl_value) {
  return crawl_value.substr(0, crawl_value.size() - std::min(crawl_value.size(), kv::kMarkBytes));
}

std::string marker_key(Owner owner, std::string_view name, std::string_view id) {
  return key_of(kMarkers, owner, name).string(id).take();
}

kv::Range markers_of(Owner owner, std::string_view name) {
  return below(key_of(kMarkers, owner, name).take());
}

Result<std::string> marked_id(std::string_view key) {
  SLUICE_LET(reader, open_key(key, kMarkers));
  SLUICE_TRY(reader.number<std::uint8_t>());
  SLUICE_TRY(reader.mark());
  return reader.string();
}

std::string encode_time(std::int64_t ms) {
  return TupleWriter().number(ms).take();
}

Result<std::int64_t> decode_time(std::string_view bytes) {
  return TupleReader(bytes).number<std::int64_t>();
}

std::string marker_time_key(Owner owner, std::string_view name, std::int64_t ms,
                            std::string_view id) {
  return key_of(kMarkerTimes, owner, name).number(ms).string(id).take();
}

kv::Range markers_until(Owner owner, std::string_view name, std::int64_t ms) {
  return until(key_of(kMarkerTimes, owner, name).take(), ms);
}

std::string marker_count_key(Owner owner, std::string_view name) {
  return key_of(kMarkerCounts, owner, name).take();
}

kv::Range all_marker_counts() {
  return below(key_of(kMarkerCounts).take());
}

Result<kv::Range> markers_until(std::string_view count_key, std::int64_t ms) {
  SLUICE_LET(reader, open_key(count_key, kMarkerCounts));
  SLUICE_LET(owner, reader.number<std::uint8_t>());
  SLUICE_LET(hash, reader.mark());
  return until(key_of(kMarkerTimes).number(owner).mark(hash).take(), ms);
}

}  // namespace sluice::server
