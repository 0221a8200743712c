// SPDX-License-Identifier: MIT
// Who may do what: the tokens of the store, as every request is measured by them.
#pragma once

#include <sluice/clock.h>
#include <sluice/queue.h>
#include <sluice/token_bucket.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/tokens.h"

namespace sluice::server {

class Grant;

/// Room for jobs that are on their way into the queues of a grant. What was not used is given back
/// when it goes.
class Room {
 public:
  Room() = default;  ///< Without bounds.
  Room(Grant& grant, std::size_t jobs) : grant_(&grant), jobs_(jobs) {}
  ~Room() { give_back(); }
  Room(Room&& other) noexcept
      : grant_(std::exchange(other.grant_, nullptr)), jobs_(other.jobs_), used_(other.used_) {}
  Room& operator=(Room&& other) noexcept;

  /// So many of them are in the queues.
  void use(std::size_t jobs) { used_ = std::min(jobs, jobs_); }

 private:
  void give_back();

  Grant* grant_ = nullptr;
  std::size_t jobs_ = 0;
  std::size_t used_ = 0;
};

/// What a token allows, and what has been used of it. Every member may be called from any thread.
class Grant {
 public:
  explicit Grant(AccessToken token) : token_(std::move(token)) {}

  const AccessToken& token() const { return token_; }
  bool may(May what) const { return includes(token_.may, what); }
  bool covers(std::string_view queue) const;
  bool covers_all() const { return token_.prefixes.empty(); }

  /// Takes one request out of its rate. Else: after what time to come back.
  std::optional<Duration> take_request(MonoTime now);

  /// Room for so many more jobs to wait in its queues; nothing if there is none. An estimate that
  /// never is too high while all jobs come through this grant: what left the queues since the last
  /// recount() is not known to it.
  std::optional<Room> take_room(std::size_t jobs);
  /// Counts what waits in its queues, unless that was done within the last second.
  Status recount(queue::Queues& queues, const Clock& clock);

 private:
  friend class Room;

  const AccessToken token_;
  Mutex mutex_;
  std::optional<BucketState> requests_ SLUICE_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> counted_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t added_ SLUICE_GUARDED_BY(mutex_) = 0;  // Since it was counted.
  std::uint64_t taken_ SLUICE_GUARDED_BY(mutex_) = 0;  // By rooms.
  MonoTime counted_at_ SLUICE_GUARDED_BY(mutex_) = {};
  Mutex counting_;
};

/// Those queues of a grant, or of everybody (null), that come after `after`, in order of names.
Result<std::vector<queue::Queue>> list_queues(queue::Queues& queues, const Grant* grant,
                                              std::string after, std::size_t limit);

/// The tokens that are good now. Every member may be called from any thread.
class Access {
 public:
  Access(queue::Queues& queues, const Clock& clock) : queues_(queues), clock_(clock) {}

  /// Reads the tokens, if they were changed. Those in use stay if that fails.
  Status refresh();

  /// From now on requests need a token even if there never was one, or all were forgotten.
  void require() { always_ = required_ = true; }
  /// Whether a request needs a token.
  bool required() const { return required_; }
  /// By the value of the Authorization field; null if it names no token that is good.
  std::shared_ptr<Grant> find(std::string_view authorization) const;

  /// Whether this one has not been revoked or changed.
  bool is_good(const Grant& grant) const;

  /// How often a request met a limit of its token.
  struct Limited {
    std::atomic<std::uint64_t> by_rate = 0;
    std::atomic<std::uint64_t> by_backlog = 0;
  };
  Limited& limited() const { return limited_; }

  queue::Queues& queues() const { return queues_; }
  const Clock& clock() const { return clock_; }

 private:
  struct Table {
    std::string version = {};
    std::map<std::string, std::shared_ptr<Grant>, std::less<>> by_hash = {};
  };
  std::shared_ptr<const Table> table() const;

  queue::Queues& queues_;
  const Clock& clock_;
  mutable Limited limited_;
  std::atomic<bool> always_ = false;
  std::atomic<bool> required_ = false;  // Asked for every request.
  mutable Mutex mutex_;
  std::shared_ptr<const Table> table_ SLUICE_GUARDED_BY(mutex_) = std::make_shared<const Table>();
};

}  // namespace sluice::server
