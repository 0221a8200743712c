// SPDX-License-Identifier: MIT
#include "server/access.h"

#include <algorithm>
#include <chrono>

#include "net/http_head.h"

namespace sluice::server {
namespace {

constexpr std::string_view kScheme = "bearer ";
constexpr Duration kRecountPeriod = std::chrono::seconds(1);

/// Sorted, without those that another one includes.
std::vector<std::string> shortest(std::vector<std::string> prefixes) {
  std::ranges::sort(prefixes);
  std::vector<std::string> kept;
  for (std::string& prefix : prefixes)
    if (kept.empty() || !prefix.starts_with(kept.back())) kept.push_back(std::move(prefix));
  return kept;
}

}  // namespace

bool Grant::covers(std::string_view queue) const {
  return covers_all() || std::ranges::any_of(token_.prefixes, [&](const std::string& prefix) {
           return queue.starts_with(prefix);
         });
}

std::optional<Duration> Grant::take_request(MonoTime now) {
  if (token_.rate == 0) return {};
  const BucketLimit limit{
      .tokens = token_.rate, .per = std::chrono::seconds(1), .burst = token_.rate};
  const Duration at = now.time_since_epoch();
  const MutexLock lock(mutex_);
  const BucketTake taken = take(limit, requests_.value_or(full_bucket(limit, at)), at, 1);
  requests_ = taken.state;
  if (taken.taken) return {};
  return taken.ready_at - at;
}

Room& Room::operator=(Room&& other) noexcept {
  give_back();
  grant_ = std::exchange(other.grant_, nullptr);
  jobs_ = other.jobs_;
  used_ = other.used_;
  return *this;
}

void Room::give_back() {
  if (grant_ == nullptr) return;
  const MutexLock lock(grant_->mutex_);
  grant_->taken_ -= jobs_;
  grant_->added_ += used_;
}

std::optional<Room> Grant::take_room(std::size_t jobs) {
  if (token_.backlog_max == 0) return Room();
  const MutexLock lock(mutex_);
  if (!counted_ || *counted_ + added_ + taken_ + jobs > token_.backlog_max) return {};
  taken_ += jobs;
  return Room(*this, jobs);
}

Status Grant::recount(queue::Queues& queues, const Clock& clock) {
  const MutexLock counting(counting_);
  std::uint64_t added_before = 0;
  {
    const MutexLock lock(mutex_);
    if (counted_ && clock.mono() - counted_at_ < kRecountPeriod) return {};
    added_before = added_;
  }
  std::uint64_t sum = 0;
  for (std::string after;;) {
    SLUICE_LET(page, list_queues(queues, this, after, queue::kPageMax));
    for (const queue::Queue& queue : page) {
      const auto counts = queues.count(queue.name);
      if (!counts && counts.error().code() != Code::not_found) return counts.error();
      sum += counts ? counts->backlog() : 0;
    }
    if (page.size() < queue::kPageMax) break;
    after = page.back().name;
  }
  const MutexLock lock(mutex_);
  // Until now who asked for room had the old count with all that was added to it. What was added
  // meanwhile may be in both: the safe side.
  counted_ = sum;
  added_ -= added_before;
  counted_at_ = clock.mono();
  return {};
}

Result<std::vector<queue::Queue>> list_queues(queue::Queues& queues, const Grant* grant,
                                              std::string after, std::size_t limit) {
  if (grant == nullptr || grant->covers_all()) return queues.list_queues(after, limit);
  std::vector<queue::Queue> found;
  for (const std::string& prefix : shortest(grant->token().prefixes)) {
    if (found.size() == limit) break;
    if (prefix < after && !after.starts_with(prefix)) continue;  // All of them are before it.
    if (after < prefix) {
      // The one that is named like its prefix is the first of them.
      auto first = queues.get_queue(prefix);
      if (!first && first.error().code() != Code::not_found) return Failure{first.error()};
      if (first) found.push_back(std::move(*first));
      after = prefix;
    }
    if (found.size() == limit) break;
    SLUICE_LET(page, queues.list_queues(after, limit - found.size()));
    for (queue::Queue& queue : page)
      if (queue.name.starts_with(prefix)) found.push_back(std::move(queue));
  }
  return found;
}

std::shared_ptr<const Access::Table> Access::table() const {
  const MutexLock lock(mutex_);
  return table_;
}

Status Access::refresh() {
  const std::shared_ptr<const Table> old = table();
  SLUICE_LET(version, read_tokens_version(queues_.store()));
  if (version == old->version) return {};
  SLUICE_LET(all, read_tokens(queues_.store()));
  const auto fresh = std::make_shared<Table>();
  fresh->version = std::move(all.version);
  for (AccessToken& token : all.tokens) {
    // What has been used of a token stays used.
    const auto known = old->by_hash.find(token.hash);
    const bool same = known != old->by_hash.end() && known->second->token() == token;
    std::string hash = token.hash;
    fresh->by_hash[std::move(hash)] =
        same ? known->second : std::make_shared<Grant>(std::move(token));
  }
  const MutexLock lock(mutex_);
  table_ = fresh;
  required_ = always_ || !fresh->version.empty();
  return {};
}

bool Access::is_good(const Grant& grant) const {
  const std::shared_ptr<const Table> now = table();
  const auto found = now->by_hash.find(grant.token().hash);
  return found != now->by_hash.end() && found->second.get() == &grant;
}

std::shared_ptr<Grant> Access::find(std::string_view authorization) const {
  if (authorization.size() <= kScheme.size() ||
      !net::equal_ignoring_case(authorization.substr(0, kScheme.size()), kScheme))
    return {};
  const std::string hash = hash_of_secret(authorization.substr(kScheme.size()));
  const std::shared_ptr<const Table> now = table();
  // How long this takes tells how far a hash was right, and from that nobody learns a secret.
  const auto found = now->by_hash.find(hash);
  return found == now->by_hash.end() ? nullptr : found->second;
}

}  // namespace sluice::server
