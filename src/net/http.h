// SPDX-License-Identifier: MIT
// Requests and answers of HTTP/1.1.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_head.h"

namespace sluice::net {

struct HttpRequest {
  RequestHead head = {};  ///< Views into memory that lives as long as the request.
  std::string body = {};
  /// "192.0.2.1", "2001:db8::1", or "unix".
  std::string peer = {};
  bool secure = false;  ///< Came over TLS.
};

class Exchange;

struct HttpResponse {
  unsigned status = 200;
  std::string_view content_type = "application/json";  ///< A literal; empty: none.
  std::string body = {};
  /// Further fields. Neither name nor value may hold CR, LF or NUL (checked).
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool close = false;  ///< The connection ends with this answer.
  /// If set, the body goes on: called once this part was sent, on the connection's thread, for the
  /// next part, which may come at any time. Of that one only `body` and `more` count; the one
  /// without `more` is the last, and the connection ends with it.
  std::function<void(Exchange next)> more = {};
};

/// "Not Found" for 404; "" for a number without a name.
std::string_view reason_of(unsigned status);

/// The head of an answer, with the empty line; `date` is the value of its Date field.
std::string response_head(const HttpResponse& response, bool keep_alive, std::string_view date);

/// One request that waits for its answer. If it is destroyed before, the answer is 500.
class Exchange {
 public:
  /// What a server gives to it.
  class Channel {
   public:
    virtual ~Channel() = default;
    virtual const HttpRequest& request() const = 0;
    /// `self` is this channel: whoever answers keeps nothing of it.
    virtual void answer(std::shared_ptr<Channel> self, HttpResponse response) = 0;
    virtual bool is_gone() const = 0;
  };

  explicit Exchange(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  Exchange(Exchange&&) noexcept = default;
  Exchange& operator=(Exchange&&) = delete;
  ~Exchange();

  /// For one that puts another channel before this one.
  std::shared_ptr<Channel> release() { return std::exchange(channel_, nullptr); }

  /// Good until the answer.
  const HttpRequest& request() const { return channel_->request(); }
  /// Sends the answer, from any thread; at most once. The request is gone afterwards.
  void reply(HttpResponse response);
  /// The client has left: an answer would reach nobody. For what waits long.
  bool is_gone() const { return channel_->is_gone(); }

 private:
  std::shared_ptr<Channel> channel_;
};

}  // namespace sluice::net
