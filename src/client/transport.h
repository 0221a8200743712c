// SPDX-License-Identifier: MIT
// Calls of a service, repeated where that helps.
#pragma once

#include <sluice/client.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "net/http_client.h"

namespace sluice::client {

/// A call that does no harm if it is made twice: it changes nothing, or has an operation id, or
/// done twice it is done once.
struct Ask {
  std::string method = "POST";
  std::string path = {};
  /// Made anew for every attempt.
  std::function<std::string()> body = [] { return std::string(); };
  std::string operation = {};  ///< Idempotency-Key; empty: none.
  Duration wait = {};          ///< How much longer than others it may take.
  std::stop_token stop = {};
};

/// Any thread may call.
class Transport {
 public:
  static Result<std::unique_ptr<Transport>> open(ClientOptions options);

  /// The body of an answer that is a success.
  Result<std::string> call(const Ask& ask);
  /// An id that no other operation has.
  std::string fresh_operation();
  MonoTime now() const { return options_.clock->mono(); }

 private:
  Transport(ClientOptions options, std::string base, std::unique_ptr<net::HttpClient> http);
  net::ClientRequest request_for(const Ask& ask, Duration time) const;
  Duration pause_after(unsigned attempt);

  const ClientOptions options_;
  const std::string base_;
  const std::unique_ptr<net::HttpClient> http_;
  Mutex mutex_;
  SystemRandom system_random_ SLUICE_GUARDED_BY(mutex_);
  Random* random_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::client
