// SPDX-License-Identifier: MIT
// Host names to addresses, without blocking whoever asks.
#pragma once

#include <sluice/result.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "net/address.h"

namespace sluice::net {

/// The addresses of a host for TCP, the best first. Blocks for as long as that takes, which may be
/// many seconds. `unavailable` if there are none.
using LookUp =
    std::function<Result<std::vector<Address>>(const std::string& host, std::uint16_t port)>;

/// Asks the system.
Result<std::vector<Address>> look_up(const std::string& host, std::uint16_t port);

/// A few threads that look names up, started when there is something to do. Any thread may call.
/// The destructor waits for the look-ups that have begun, because nothing can end those.
class Resolver {
 public:
  using Done = std::function<void(Result<std::vector<Address>>)>;
  static constexpr std::size_t kThreadsMax = 8;

  explicit Resolver(LookUp look_up) : look_up_(std::move(look_up)) {}
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `done` is called on one of the threads, once; or never, if it is forgotten before a thread has
  /// taken it up, or the resolver ends. The number is for forget().
  std::uint64_t find(std::string host, std::uint16_t port, Done done);
  void forget(std::uint64_t number);

 private:
  struct Wanted {
    std::string host;
    std::uint16_t port;
    Done done;
  };
  void work();

  const LookUp look_up_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool over_ SLUICE_GUARDED_BY(mutex_) = false;
  std::uint64_t last_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::size_t resting_ SLUICE_GUARDED_BY(mutex_) = 0;  // Threads.
  std::map<std::uint64_t, Wanted> wanted_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::net
