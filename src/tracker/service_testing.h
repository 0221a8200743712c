// SPDX-License-Identifier: MIT
// A service without sockets: what it is asked and what it answers are strings.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/http_head.h"
#include "tracker/endpoint_text.h"
#include "tracker/forwarder.h"
#include "tracker/service.h"

namespace sluice::tracker::testing {

/// Catches an answer.
class Caught final : public net::Exchange::Channel {
 public:
  explicit Caught(std::string head, std::string peer) : text_(std::move(head)) {
    auto parsed = net::parse_request_head(text_, {});
    if (parsed) request_.head = std::move(*parsed);
    request_.peer = std::move(peer);
  }
  const net::HttpRequest& request() const override { return request_; }
  void answer(std::shared_ptr<Channel> /*self*/, net::HttpResponse response) override {
    response_ = std::move(response);
  }
  bool is_gone() const override { return false; }
  bool answered() const { return response_.has_value(); }
  const net::HttpResponse& response() const { return *response_; }

 private:
  std::string text_;
  net::HttpRequest request_;
  std::optional<net::HttpResponse> response_;
};

/// Keeps what it is told until the test answers.
class HeldTransport final : public UpstreamTransport {
 public:
  void announce(const UpstreamRequest& request, Done done) override {
    held_.emplace_back(request, std::move(done));
  }
  std::size_t size() const { return held_.size(); }
  const UpstreamRequest& front() const { return held_.front().first; }
  void answer(UpstreamResult result) {
    const Done done = std::move(held_.front().second);
    held_.pop_front();
    done(std::move(result));
  }

 private:
  std::deque<std::pair<UpstreamRequest, Done>> held_;
};

struct Asked {
  std::string target = {};
  std::string peer = "192.0.2.1";
  std::string headers = {};  ///< Lines with their ends.
};

/// A hash and a peer id of one repeated letter each.
inline std::string announce_of(char peer, unsigned port, const std::string& more = "",
                               char hash = 'h') {
  return "/announce?info_hash=" + std::string(20, hash) + "&peer_id=" + std::string(20, peer) +
         "&port=" + std::to_string(port) + "&left=1" + more;
}

}  // namespace sluice::tracker::testing
