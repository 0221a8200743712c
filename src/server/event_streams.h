// SPDX-License-Identifier: MIT
// Followers of what happens in queues, as server-sent events.
#pragma once

#include <sluice/queue.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "codec/json.h"
#include "net/http.h"
#include "server/access.h"

namespace sluice::server {

/// {"id":"...","from":"ready","to":"leased","attempt":1,"at":...,"cursor":"..."}
void put(codec::json::Writer& writer, const queue::Event& event);

/// One thread looks for all of them, every kPeriod while there are any. Every member may be called
/// from any thread.
class EventStreams {
 public:
  static constexpr std::size_t kStreamsMax = 1'000;
  /// An event is sent at most so much later than it happened, and what sending takes.
  static constexpr Duration kPeriod = std::chrono::milliseconds(100);
  /// When nothing happens a comment is sent so often: peers that are gone are noticed.
  static constexpr Duration kSignOfLife = std::chrono::seconds(15);

  explicit EventStreams(const Access& access) : access_(access) {}
  ~EventStreams() { stop(); }
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  struct Stream {
    std::string queue = {};
    std::string after = {};  ///< The cursor of the last event that was sent.
    std::shared_ptr<Grant> grant = {};
  };
  /// Answers with the beginning of the stream. `unavailable` if there are kStreamsMax, or after
  /// stop(); nothing is answered then.
  Status open(net::Exchange& exchange, Stream stream);
  /// All of them end.
  void stop();

 private:
  /// A stream whose client is ready for more.
  struct Waiting {
    net::Exchange exchange;
    std::shared_ptr<Stream> stream;
    MonoTime since = {};
  };
  void wait(net::Exchange exchange, std::shared_ptr<Stream> stream);
  void follow(const std::stop_token& stop);
  bool serve(Waiting& one, bool& busy);
  void send(Waiting& one, std::string text);
  std::shared_ptr<Stream> counted(Stream stream);

  const Access& access_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t open_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
  std::vector<Waiting> waiting_ SLUICE_GUARDED_BY(mutex_);
  std::jthread thread_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::server
