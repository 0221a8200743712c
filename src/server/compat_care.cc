// SPDX-License-Identifier: MIT
// What an outside janitor used to do. Nothing here is needed for anything to be right: jobs and
// markers run out by themselves, and counts are exact.
#include <algorithm>

#include "server/compat.h"
#include "server/compat_answers.h"

namespace sluice::server {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr std::uint32_t kSampleByDefault = 50;
constexpr std::uint32_t kSampleMax = 1'000;

/// All entries of a range, page by page, each page a snapshot of its own.
template <class Visit>
Status each_page(kv::Store& store, kv::Range range, Visit visit) {
  for (;;) {
    std::vector<kv::KeyValue> page;
    SLUICE_TRY(store.read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(entries, reader.scan(range, {.limit = kPage}));
      page = std::move(entries);
      return {};
    }));
    for (const kv::KeyValue& entry : page) SLUICE_TRY(visit(entry));
    if (page.size() < kPage) return {};
    range.begin = page.back().key + '\0';
  }
}

Result<bool> erase_if_unchanged(kv::Store& store, const kv::KeyValue& entry) {
  bool same = false;
  SLUICE_TRY(store.run(
      [&](kv::Transaction& txn) -> Status {
        SLUICE_LET(now, txn.get(entry.key));
        same = now == entry.value;
        if (same) txn.erase(entry.key);
        return {};
      },
      {.write_class = kv::WriteClass::drain}));
  return same;
}

struct Sample {
  std::uint32_t limit = 0;
  std::string after = {};
};

std::optional<Sample> read_sample(Call& call) {
  const auto of = [&](std::string_view name) {
    const auto found = call.query.find(name);
    return found == call.query.end() ? nullptr : &found->second;
  };
  const auto limit = parse_query_number("limit", of("limit"), kSampleByDefault);
  if (!limit) {
    answer_refusal(call, 400, limit.error());
    return {};
  }
  const std::string* after = of("after");
  return Sample{.limit = std::min(*limit, kSampleMax), .after = after != nullptr ? *after : ""};
}

}  // namespace

void Compat::clean_jobs(Call call) {
  work_.look_up(std::move(call), [this]() -> Result<net::HttpResponse> {
    std::uint64_t expired = 0;
    for (;;) {
      SLUICE_LET(swept, queues_.sweep());
      expired += swept.expired;
      if (swept.moved() == 0) return number_answer("cleaned", expired);
    }
  });
}

void Compat::clean_markers(Call call) {
  work_.look_up(std::move(call), [this]() -> Result<net::HttpResponse> {
    std::uint64_t sum = 0;
    for (;;) {
      SLUICE_LET(removed, remove_old_markers());
      sum += removed;
      if (removed == 0) return number_answer("cleaned", sum);
    }
  });
}

// A claim whose lease is over can no longer be released.
void Compat::clean_claims(Call call) {
  work_.look_up(std::move(call), [this]() -> Result<net::HttpResponse> {
    std::uint64_t cleaned = 0;
    SLUICE_TRY(each_page(queues_.store(), all_claims(), [&](const kv::KeyValue& entry) -> Status {
      SLUICE_LET(key, decode_queue_key(entry.value));
      const auto job = queues_.get({key.team, key.id});
      if (!job && job.error().code() != Code::not_found) return job.error();
      if (job && job->lane == queue::Lane::leased &&
          queue::Token{job->number, job->claims} == key.token)
        return {};
      SLUICE_LET(removed, erase_if_unchanged(queues_.store(), entry));
      cleaned += removed ? 1 : 0;
      return {};
    }));
    return number_answer("cleaned", cleaned);
  });
}

// The record says that a team has jobs of a crawl. Every push changes it: one that is as it was
// before the jobs were counted can go.
void Compat::clean_crawls(Call call) {
  work_.look_up(std::move(call), [this]() -> Result<net::HttpResponse> {
    std::uint64_t cleaned = 0;
    SLUICE_TRY(
        each_page(queues_.store(), crawls_after(""), [&](const kv::KeyValue& entry) -> Status {
          SLUICE_LET(crawl, crawl_of(entry.key));
          const auto counts = queues_.count(team_of(entry.value), crawl);
          if (!counts && counts.error().code() != Code::not_found) return counts.error();
          if (counts && counts->backlog() + counts->leased > 0) return {};
          SLUICE_LET(removed, erase_if_unchanged(queues_.store(), entry));
          cleaned += removed ? 1 : 0;
          return {};
        }));
    return number_answer("cleaned", cleaned);
  });
}

// Counts are kept in the transactions that change what they count, so there is nothing to correct.
// They are counted all the same: a difference would be an error of ours, and is told to whoever
// reads the log.
void Compat::reconcile_jobs(Call call, Owner owner) {
  const std::string name = call.parts[0];
  work_.look_up(std::move(call), [this, owner, name]() -> Result<net::HttpResponse> {
    std::vector<std::string> teams{name};
    if (owner == Owner::crawl) {
      SLUICE_LET(of_crawl, teams_with(name));
      teams = std::move(of_crawl);
    }
    for (const std::string& team : teams)
      SLUICE_TRY(recount(team, owner == Owner::crawl ? name : ""));
    return number_answer("correction", 0);
  });
}

/// Pages of a listing are read one after the other: what is the same before and after them was the
/// same all the time, as good as always.
Status Compat::recount(const std::string& team, const std::string& crawl) {
  const auto count = [&] {
    return crawl.empty() ? queues_.count(team) : queues_.count(team, crawl);
  };
  const auto before = count();
  if (!before) return before.error().code() == Code::not_found ? Status() : before.error();
  std::uint64_t found = 0;
  queue::ListRequest request{.queue = team, .group = crawl, .limit = kPage};
  do {
    SLUICE_LET(page, queues_.list(request));
    found += page.jobs.size();
    request.after = page.next;
  } while (!request.after.empty());
  SLUICE_LET(after, count());
  if (*before == after && after.total() != found && options_.log)
    options_.log(LogLevel::error, "the count of " + team + " is " + std::to_string(after.total()) +
                                      ", and there are " + std::to_string(found) +
                                      " jobs: run sluiced verify");
  return {};
}

void Compat::reconcile_markers(Call call, Owner owner) {
  const std::string name = call.parts[0];
  work_.look_up(std::move(call), [this, owner, name]() -> Result<net::HttpResponse> {
    std::int64_t counted = 0;
    std::int64_t found = 0;
    SLUICE_TRY(queues_.store().read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(value, reader.get(marker_count_key(owner, name)));
      SLUICE_LET(number, kv::decode_counter(value));
      SLUICE_LET(markers, reader.scan(markers_of(owner, name)));
      counted = number;
      found = static_cast<std::int64_t>(markers.size());
      return {};
    }));
    if (counted != found && options_.log)
      options_.log(LogLevel::error, "the markers of " + name + " are counted as " +
                                        std::to_string(counted) + ", and there are " +
                                        std::to_string(found));
    return number_answer("correction", 0);
  });
}

void Compat::sample_teams(Call call) {
  const auto sample = read_sample(call);
  if (!sample) return;
  work_.look_up(std::move(call), [this, sample = *sample]() -> Result<net::HttpResponse> {
    std::vector<std::string> ids;
    if (sample.limit > 0) {
      SLUICE_LET(queues, queues_.list_queues(sample.after, sample.limit));
      for (queue::Queue& queue : queues) ids.push_back(std::move(queue.name));
    }
    return list_answer("ids", ids);
  });
}

void Compat::sample_crawls(Call call) {
  const auto sample = read_sample(call);
  if (!sample) return;
  work_.look_up(std::move(call), [this, sample = *sample]() -> Result<net::HttpResponse> {
    std::vector<std::string> ids;
    std::string last;
    SLUICE_TRY(each_page(queues_.store(), crawls_after(sample.after),
                         [&](const kv::KeyValue& entry) -> Status {
                           if (ids.size() == sample.limit) return {};
                           SLUICE_LET(crawl, crawl_of(entry.key));
                           if (crawl == last) return {};
                           last = crawl;
                           SLUICE_LET(jobs, unfinished_of_crawl(crawl));
                           if (jobs > 0) ids.push_back(std::move(crawl));
                           return {};
                         }));
    return list_answer("ids", ids);
  });
}

}  // namespace sluice::server
