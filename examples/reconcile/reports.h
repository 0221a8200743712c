// SPDX-License-Identifier: MIT
// Reports and what came of them. Those without a last word are jobs of a durable queue; the results
// lie beside it, in the same store. Whatever happens to a report happens in one transaction, so
// that a crash at any moment leaves it in exactly one place.
#pragma once

#include <sluice/queue.h>

#include "codec/json.h"

namespace reconcile {

using namespace sluice;
using namespace std::chrono_literals;
namespace json = codec::json;

inline constexpr const char* kQueue = "reports";
inline const std::string kResults = "result/";
inline constexpr std::size_t kReportBytesMax = 4'096;
inline constexpr std::size_t kBatchMax = 500;

struct Figures {
  std::int64_t views = 0, clicks = 0, conversions = 0;
  friend bool operator==(const Figures&, const Figures&) = default;
};

struct Report {
  std::string id, platform, post;
  Figures claimed;
  std::string text;  ///< All of it, as it came.
};

template <class T>
Result<T> member(const json::Value& value, const std::string& name) {
  const json::Value* found = value.find(name);
  if (const T* content = found ? found->as<T>() : nullptr) return *content;
  constexpr const char* kKind = std::is_same_v<T, std::string> ? "text" : "whole number";
  return error(Code::invalid_argument, "\"" + name + "\" must be there, and a " + kKind);
}

inline Result<Figures> parse_figures(const json::Value& value) {
  SLUICE_LET(views, member<std::int64_t>(value, "views"));
  SLUICE_LET(clicks, member<std::int64_t>(value, "clicks"));
  SLUICE_LET(conversions, member<std::int64_t>(value, "conversions"));
  if (std::min({views, clicks, conversions}) >= 0) return Figures{views, clicks, conversions};
  return error(Code::invalid_argument, "views, clicks and conversions cannot be below 0");
}

inline Result<Report> parse_report(const std::string& text) {
  SLUICE_LET(value, json::parse(text));
  SLUICE_LET(id, member<std::string>(value, "id"));
  SLUICE_TRY(member<std::string>(value, "affiliate"));
  SLUICE_LET(platform, member<std::string>(value, "platform"));
  SLUICE_LET(post, member<std::string>(value, "post"));
  SLUICE_LET(claimed, parse_figures(value));
  if (id.empty() || platform.empty() || text.size() > kReportBytesMax)
    return error(Code::invalid_argument, "it needs an id and a platform, in 4,096 bytes at most");
  return Report{id, platform, post, claimed, text};
}

/// Puts in the reports whose ids are new, all or none. Returns how many they were.
inline Result<std::size_t> submit(queue::Queues& queues, std::span<const Report> reports) {
  std::size_t fresh = 0;
  SLUICE_TRY(queues.store().run([&](kv::Transaction& txn) -> Status {
    fresh = 0;  // A body may run more than once.
    queue::Scope jobs(queues, txn);
    for (const Report& report : reports) {
      SLUICE_LET(result, txn.get(kResults + report.id));
      if (result) continue;  // Its job may be done and gone.
      const bool extreme = report.claimed.clicks > report.claimed.views / 5;
      const auto job = jobs.enqueue({.queue = kQueue,
                                     .id = report.id,
                                     .group = report.platform,
                                     .payload = report.text,
                                     .label = extreme ? "high" : "normal"});
      if (!job && job.error().code() == Code::already_exists) continue;
      SLUICE_TRY(job);
      ++fresh;
    }
    return {};
  }));
  return fresh;
}

/// `looks`: how often the platform has answered. `again`: it will be asked once more.
inline std::string write_result(const Report& report, const std::optional<Figures>& found,
                                std::int64_t looks, bool again) {
  const char* verdict = again ? "MISSING" : "UNVERIFIABLE";
  if (found) verdict = *found == report.claimed ? "MATCHED" : "DISCREPANCY";
  json::Writer result;
  result.object().name("id").string(report.id).name("platform").string(report.platform);
  result.name("verdict").string(verdict).name("looks").number(looks);
  if (found && *found != report.claimed) {
    result.name("difference").object().name("views").number(report.claimed.views - found->views);
    result.name("clicks").number(report.claimed.clicks - found->clicks);
    result.name("conversions").number(report.claimed.conversions - found->conversions).end_object();
  }
  return result.name("report").raw(report.text).end_object().take();
}

/// All results, as of one moment.
inline Status read_results(kv::Store& store, const kv::Visitor& visitor) {
  return store.read(
      [&](kv::Reader& reader) { return reader.scan(kv::Range::prefix(kResults), {}, visitor); },
      {.unbounded = true});
}

}  // namespace reconcile
