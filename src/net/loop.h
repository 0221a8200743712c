// SPDX-License-Identifier: MIT
// One thread that serves connections. Private to this room: drags in Asio.
#pragma once

#include <sluice/clock.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace sluice::net {

namespace asio = boost::asio;
using Executor = asio::io_context::executor_type;
template <class T>
using Task = asio::awaitable<T, Executor>;
inline constexpr asio::use_awaitable_t<Executor> kAwait{};
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

/// Something on a loop that has a deadline. Everything happens on the loop's thread.
class Watched {
 public:
  virtual ~Watched() = default;
  /// Now and then.
  virtual void look(MonoTime now) = 0;
  /// The loop has ended: nothing that it waits for will come.
  virtual void abandon() = 0;
};

/// Everything on it happens on its own thread, which runs from start() to stop(). One timer serves
/// all deadlines: what is watched is looked at every kPeriod.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  static constexpr Duration kPeriod = std::chrono::milliseconds(500);

  explicit Loop(const Clock& clock) : clock_(clock) {}
  ~Loop() { stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start();
  /// Returns when the thread has ended and what was on the loop is gone.
  void stop();
  /// Runs it on the loop's thread, soon; never, and says false, if the loop has ended. What several
  /// threads post meanwhile, or one that answers many at once, wakes the loop once.
  bool post(std::function<void()> function);

  asio::io_context& context() { return context_; }
  bool is_this_thread() { return context_.get_executor().running_in_this_thread(); }
  MonoTime now() const { return clock_.mono(); }

  // Only on its thread.
  void watch(Watched* one) { watched_.insert(one); }
  void unwatch(Watched* one) { watched_.erase(one); }
  const std::set<Watched*>& watched() const { return watched_; }
  /// For the Date field, right to the second or so.
  const std::string& date() const { return date_; }

 private:
  Task<void> keep_time();
  void tick();
  void wake();
  void run_posted();

  const Clock& clock_;
  asio::io_context context_{1};
  Mutex mutex_;
  bool over_ SLUICE_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> posted_ SLUICE_GUARDED_BY(mutex_);
  std::set<Watched*> watched_;
  std::string date_;
  std::jthread thread_;
};

}  // namespace sluice::net
