// SPDX-License-Identifier: MIT
// One connection of a server, over any kind of stream. Private to this room: drags in Asio.
#pragma once

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/tls.h"

namespace sluice::net {

/// What all connections of a server share, from any thread.
struct HttpShared {
  HttpServerOptions options = {};
  HttpHandler handler = {};
  std::atomic<bool> draining = false;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> malformed = 0;
  std::atomic<std::uint64_t> too_slow = 0;

  /// Whether there is room for one more connection of this peer; leave() makes it again.
  bool enter(const std::string& peer);
  void leave(const std::string& peer);
  std::size_t connections();

 private:
  Mutex mutex_;
  std::size_t connections_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::size_t> by_peer_ SLUICE_GUARDED_BY(mutex_);
};

/// Reads requests one after the other, and writes their answers. Lives on its loop's thread, but
/// for answer() and is_gone().
class HttpConnection : public Exchange::Channel,
                       public Watched,
                       public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<Loop> loop, std::shared_ptr<HttpShared> shared, std::string peer);
  ~HttpConnection() override;

  /// Until the connection ends. The caller keeps the object alive.
  Task<void> serve();

  const HttpRequest& request() const final { return request_; }
  void answer(std::shared_ptr<Channel> self, HttpResponse response) final;
  bool is_gone() const final;
  void look(MonoTime now) final;
  void abandon() final;
  /// Ends it if it waits for a request; otherwise it ends after the answer.
  void close_if_idle();

 protected:
  using Got = std::tuple<boost::system::error_code, std::size_t>;
  virtual Task<bool> shake_hands() = 0;
  virtual Task<Got> read_some(asio::mutable_buffer into) = 0;
  virtual Task<Got> write_some(asio::const_buffer from) = 0;
  /// Tells the other side that nothing more comes.
  virtual Task<void> finish_writing() = 0;
  virtual Socket& socket() = 0;
  virtual int descriptor() const = 0;

  HttpRequest request_;

 private:
  enum class Phase : std::uint8_t { idle, head, body, handling, writing };
  class Waiter;
  template <class Handler>
  class HandlerWaiter;

  Task<bool> fill();
  Task<std::size_t> read_head();
  Task<bool> read_request();
  Task<bool> read_body(std::size_t head_bytes);
  Task<bool> read_sized_body();
  Task<bool> read_chunked_body();
  Task<HttpResponse> handle(const std::function<void(Exchange)>& handler);
  Task<bool> write_stream(HttpResponse response);
  Task<bool> write(std::string_view text);
  Task<bool> write_response(HttpResponse response);
  Task<void> refuse(Refusal refusal);
  Task<void> linger();
  void accept_answer(HttpResponse response);
  void enter(Phase phase, Duration time);
  void extend_body_deadline();
  void close();
  void let_go();

  // An answer may come when the server is gone.
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<HttpShared> shared_;
  boost::beast::flat_buffer buffer_;  // What has come and was not used yet.
  std::string head_;                  // The text that the request's head looks into.
  Phase phase_ = Phase::head;
  bool is_new_ = true;  // No request has come yet.
  MonoTime deadline_ = MonoTime::max();
  MonoTime body_began_ = {};
  std::size_t body_bytes_ = 0;
  std::optional<HttpResponse> response_;
  HttpResponse from_afar_;  // Belongs to the thread that answers, then to what it posts.
  std::unique_ptr<Waiter> waiter_;
  std::atomic<bool> gone_ = false;
  // Between close() and is_gone(), which another thread calls.
  mutable Mutex closing_;
};

/// Over plain TCP or a Unix socket.
std::shared_ptr<HttpConnection> make_plain_connection(std::shared_ptr<Loop> loop,
                                                      std::shared_ptr<HttpShared> shared,
                                                      std::string peer, Socket socket);
std::shared_ptr<HttpConnection> make_tls_connection(std::shared_ptr<Loop> loop,
                                                    std::shared_ptr<HttpShared> shared,
                                                    std::string peer, Socket socket,
                                                    std::shared_ptr<TlsContext> tls);

}  // namespace sluice::net
