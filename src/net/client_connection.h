// SPDX-License-Identifier: MIT
// One connection of a client. Private to this room: drags in Asio.
#pragma once

#include <sluice/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "net/address.h"
#include "net/client_stream.h"
#include "net/client_tunnel.h"
#include "net/http_answer.h"
#include "net/loop.h"

namespace sluice::net {

/// What is sent. Lives until the last byte was.
struct Outgoing {
  std::string method = {};
  std::string head = {};
  std::string body = {};
};

/// Carries one request after the other. Lives on its loop's thread; tasks keep it alive.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  /// How it gets there.
  struct Way {
    std::optional<Address> from = {};           ///< The address of this machine to send from.
    std::shared_ptr<const Tunnel> tunnel = {};  ///< Null: none. Connections die last.
  };
  ClientConnection(Loop& loop, std::unique_ptr<ClientStream> stream, Way way)
      : loop_(loop), stream_(std::move(stream)), way_(std::move(way)) {}

  /// Tries the addresses one after the other, none for so long that no time is left for the rest.
  /// Empty, or why not.
  Task<std::string> connect(std::vector<Address> addresses, MonoTime until);
  /// The answer, or why there is none.
  Task<tl::expected<ClientResponse, std::string>> exchange(std::shared_ptr<const Outgoing> request,
                                                           AnswerLimits limits);

  /// A byte of the last answer has come.
  bool was_answered() const { return answered_; }
  /// May carry another request.
  bool is_good() const { return good_; }

  /// Between exchanges: calls `ended` when the server sends something or ends the connection.
  void watch(std::function<void()> ended);
  /// Ends the watch. Whether the connection is still good.
  bool unwatch();

  /// From now on every task on it fails. Never calls back.
  void close();

 private:
  Task<std::string> connect_to(const Address& address, Duration time);
  std::string bind_to(const Address& from);
  static Task<void> send(std::shared_ptr<ClientConnection> self,
                         std::shared_ptr<const Outgoing> request);
  Task<bool> write(std::string_view text);

  Loop& loop_;
  const std::unique_ptr<ClientStream> stream_;
  const Way way_;
  bool closed_ = false;
  bool answered_ = false;
  bool good_ = false;
  bool sending_ = false;
  std::uint64_t attempt_ = 0;  // Of connecting.
  std::uint64_t watch_ = 0;    // Which one it is.
};

}  // namespace sluice::net
