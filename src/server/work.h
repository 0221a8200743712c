// SPDX-License-Identifier: MIT
// How handlers reach the store without holding up the threads that serve connections.
#pragma once

#include <sluice/kv.h>
#include <sluice/queue.h>

#include <functional>
#include <memory>

#include "server/errands.h"
#include "server/routes.h"

namespace sluice::server {

/// Every member may be called from any thread. Lives as long as what it has begun.
class Work {
 public:
  /// How an API tells a failure.
  using TellFailure = net::HttpResponse (*)(const Status& why);

  Work(const Access& access, Errands& errands, TellFailure tell_failure)
      : access_(access), errands_(errands), tell_failure_(tell_failure) {}

  struct Answer : net::HttpResponse {
    Answer& operator=(net::HttpResponse response) {
      static_cast<net::HttpResponse&>(*this) = std::move(response);
      return *this;
    }
    std::size_t jobs = 0;  ///< That were enqueued.
  };
  /// A body of a transaction that also makes the answer.
  using Body = std::function<Status(kv::Transaction& txn, Answer& answer)>;
  /// As the status of an answer: the transaction was worth its commit, but another must follow.
  static constexpr unsigned kAgain = 0;
  /// Runs `body` in a transaction, and answers when that is durable. Never blocks.
  void write(Call call, kv::WriteClass write_class, Body body);

  /// Goes on with `go` if the token of the request has room for so many jobs more; answers 429 if
  /// not.
  template <class Go>
  void with_room(Call call, std::size_t jobs, Go go) {
    if (take_room(call, jobs)) return go(std::move(call));
    recount_room(std::move(call), jobs, std::move(go));
  }

  /// Runs `look` where it may block, and answers with its result.
  void look_up(Call call, std::function<Result<net::HttpResponse>()> look);
  /// The same for one that answers by itself.
  void run(Call call, std::function<void(Call call)> errand);

 private:
  struct Writing;
  static void write(std::unique_ptr<Writing> writing);
  static bool take_room(Call& call, std::size_t jobs);
  void recount_room(Call call, std::size_t jobs, std::function<void(Call call)> go);

  const Access& access_;
  Errands& errands_;
  const TellFailure tell_failure_;
};

}  // namespace sluice::server
